package main

import (
	"fmt"
	"image/color"
	"os"
	"path/filepath"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/fleetlimit/fleetlimit/bench/chart"
)

var colours = []color.Color{chart.Blue, chart.Ink, chart.Orange, chart.Green, chart.Purple, chart.Red}

// curves is a chart of named curves. Its x-axis is logarithmic.
type curves struct {
	title, x, y string
	names       []string
	points      map[string]plotter.XYs
}

func newCurves(title, x, y string) *curves {
	return &curves{title: title, x: x, y: y, points: make(map[string]plotter.XYs)}
}

// add adds a point at the right end of a curve.
func (c *curves) add(name string, x int, y float64) {
	if c.points[name] == nil {
		c.names = append(c.names, name)
	}
	c.points[name] = append(c.points[name], plotter.XY{X: float64(x), Y: y})
}

// save draws the chart into a file in dir. It does nothing if dir is "".
func (c *curves) save(dir, file string) error {
	if dir == "" {
		return nil
	}
	p := chart.New(c.title, c.x, c.y)
	p.X.Scale, p.Y.Min, p.Y.Max = plot.LogScale{}, 0, 1
	p.Legend.Top, p.Legend.XOffs = true, -10
	var ticks plot.ConstantTicks
	for _, at := range c.points[c.names[0]] {
		ticks = append(ticks, plot.Tick{Value: at.X, Label: fmt.Sprint(at.X)})
	}
	p.X.Tick.Marker = ticks
	for i, name := range c.names {
		chart.Line(p, name, colours[i], c.points[name])
		p.Add(&plotter.Scatter{XYs: c.points[name], GlyphStyle: draw.GlyphStyle{Color: colours[i], Radius: 2.5, Shape: draw.CircleGlyph{}}})
	}
	return os.WriteFile(filepath.Join(dir, file), chart.SVG(8*vg.Inch, 4*vg.Inch, p), 0o644)
}
