package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/fleetlimit/fleetlimit/docs/plot/canvas"
)

// A chart is curves over a logarithmic axis. The other axis begins at 0.
type chart struct {
	title, x, y string
	series      []series
}

// A series is the points of a curve, from left to right.
type series struct {
	name, colour string
	xs, ys       []float64
}

func (s *series) add(x int, y float64) { s.xs, s.ys = append(s.xs, float64(x)), append(s.ys, y) }

// Pixels: the size of the figure, and what is around the curves in it.
const (
	width, height = 760.0, 400.0
	left, right   = 90.0, 210.0
	top, bottom   = 50.0, 60.0
	plotWidth     = width - left - right
	plotHeight    = height - top - bottom
)

// svg returns the figure.
func (c *chart) svg() string {
	f := canvas.New(width, height, c.title)
	f.Text(left, 24, "start", c.title, canvas.Bold)
	f.Text(left+plotWidth/2, height-16, "middle", c.x, "")
	f.Text(left, top-8, "start", c.y, "")
	first, last := c.span()
	step, high := scale(c.highest())
	px := func(x float64) float64 { return left + plotWidth*math.Log(x/first)/max(math.Log(last/first), 1e-9) }
	py := func(y float64) float64 { return top + plotHeight*(1-y/high) }
	for y := 0.0; y <= high*1.0001; y += step {
		f.Line(left, py(y), left+plotWidth, py(y), canvas.Ink, canvas.Faint)
		f.Text(left-8, py(y)+4, "end", short(y), "")
	}
	for _, x := range c.series[0].xs {
		f.Line(px(x), top, px(x), top+plotHeight, canvas.Ink, canvas.Faint)
		f.Text(px(x), top+plotHeight+18, "middle", short(x), "")
	}
	for i, s := range c.series {
		points := make([]string, len(s.xs))
		for j := range s.xs {
			points[j] = fmt.Sprintf("%.1f,%.1f", px(s.xs[j]), py(s.ys[j]))
			fmt.Fprintf(f, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>`+"\n", px(s.xs[j]), py(s.ys[j]), s.colour)
		}
		fmt.Fprintf(f, `<polyline points="%s" fill="none" stroke="%s" stroke-width="1.8"/>`+"\n", strings.Join(points, " "), s.colour)
		y := top + 12 + 22*float64(i)
		fmt.Fprintf(f, `<circle cx="%.1f" cy="%.1f" r="4" fill="%s"/>`+"\n", left+plotWidth+24, y-4, s.colour)
		f.Text(left+plotWidth+36, y, "start", s.name, "")
	}
	return f.SVG()
}

// save writes the figure into a directory.
func (c *chart) save(dir, name string) error {
	return os.WriteFile(filepath.Join(dir, name), []byte(c.svg()), 0o644)
}

// span returns the least and the greatest x.
func (c *chart) span() (first, last float64) {
	xs := c.series[0].xs
	return xs[0], xs[len(xs)-1]
}

func (c *chart) highest() (y float64) {
	for _, s := range c.series {
		for _, v := range s.ys {
			y = max(y, v)
		}
	}
	return y
}

// scale returns the distance of the lines of an axis, of which there are four to ten, and its end: round numbers.
func scale(highest float64) (step, end float64) {
	if highest <= 0 {
		return 0.25, 1
	}
	step = math.Pow(10, math.Floor(math.Log10(highest)))
	for _, part := range []float64{1, 2, 5} {
		if highest/(step/part) >= 4 {
			step /= part
			break
		}
	}
	return step, math.Ceil(highest/step-1e-9) * step
}

// short writes a number so that it fits beside an axis.
func short(v float64) string {
	switch {
	case v >= 1e6:
		return fmt.Sprintf("%g M", math.Round(v/1e4)/100)
	case v >= 1e4:
		return fmt.Sprintf("%g k", math.Round(v/10)/100)
	}
	return fmt.Sprintf("%g", math.Round(v*1e4)/1e4)
}
