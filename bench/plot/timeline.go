package main

import (
	"fmt"
	"image/color"

	gonum "gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"

	"github.com/fleetlimit/fleetlimit/bench/chart"
	"github.com/fleetlimit/fleetlimit/limiter"
)

type plot = gonum.Plot

// timeline returns a figure with the time from 0 to end. The x-axis has a tick at each step. The y-axis
// has a tick at each of values, which must ascend.
func timeline(title string, end, step limiter.Instant, values ...float64) *plot {
	p := chart.New(title, "", "")
	var ticks, at gonum.ConstantTicks
	for i := limiter.Instant(0); i <= end; i += step {
		ticks = append(ticks, gonum.Tick{Value: seconds(i), Label: fmt.Sprintf("%d:%02d", i/minute, i%minute/second)})
	}
	for _, v := range values {
		at = append(at, gonum.Tick{Value: v, Label: fmt.Sprint(v)})
	}
	p.X.Tick.Marker, p.Y.Tick.Marker = ticks, at
	p.X.Max, p.Y.Min, p.Y.Max = seconds(end), values[0], 1.2*values[len(values)-1]
	p.Legend.Top = true
	return p
}

// area adds a curve, and fills the area between the curve and zero.
func area(p *plot, c color.NRGBA, points plotter.XYs) {
	points = thin(points)
	first, last := points[0], points[len(points)-1]
	polygon, err := plotter.NewPolygon(append(plotter.XYs{{X: first.X}}, append(points, plotter.XY{X: last.X})...))
	if err != nil {
		panic(err) // some point is NaN
	}
	polygon.Color, polygon.LineStyle.Width = chart.Faint(c), 0
	p.Add(polygon)
	chart.Line(p, "", c, points)
}

// mark writes the value of a point above it.
func mark(p *plot, c color.NRGBA, at plotter.XY) {
	labels, err := plotter.NewLabels(plotter.XYLabels{XYs: plotter.XYs{at}, Labels: []string{fmt.Sprint(at.Y)}})
	if err != nil {
		panic(err) // there are as many labels as points
	}
	style := p.X.Tick.Label
	style.Color, style.XAlign, style.YAlign = c, text.XCenter, text.YBottom
	labels.TextStyle[0], labels.Offset.Y = style, 2
	p.Add(labels)
}

// thin removes points that lie on the line between their neighbours.
func thin(points plotter.XYs) (out plotter.XYs) {
	for i, p := range points {
		if i == 0 || i == len(points)-1 || points[i-1].Y+points[i+1].Y != 2*p.Y {
			out = append(out, p)
		}
	}
	return out
}
