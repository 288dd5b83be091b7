package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
)

// Colours of middle lightness, those of the other figures, so that they read on a white page and on a dark one.
const (
	ink    = "#76808a" // text and axes
	red    = "#d9483b"
	blue   = "#3d85d8"
	orange = "#d98324"
	green  = "#2f9e77"
	purple = "#a567cf"
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
	width, height       = 760.0, 400.0
	left, right         = 90.0, 210.0
	top, bottom         = 50.0, 60.0
	plotWidth           = width - left - right
	plotHeight          = height - top - bottom
	faint         attrs = ` stroke-opacity="0.28"`
	bold          attrs = ` font-weight="600"`
)

// attrs are attributes of an element of an SVG.
type attrs string

// svg returns the figure.
func (c *chart) svg() string {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0f" height="%.0f" role="img" `+
		`font-family="system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif" font-size="13" fill="%s">`+"\n<title>%s</title>\n",
		width, height, width, height, ink, c.title)
	text(&b, left, 24, "start", c.title, bold)
	text(&b, left+plotWidth/2, height-16, "middle", c.x, "")
	text(&b, left, top-8, "start", c.y, "")
	first, last := c.span()
	step, high := scale(c.highest())
	px := func(x float64) float64 { return left + plotWidth*math.Log(x/first)/max(math.Log(last/first), 1e-9) }
	py := func(y float64) float64 { return top + plotHeight*(1-y/high) }
	for y := 0.0; y <= high*1.0001; y += step {
		line(&b, left, py(y), left+plotWidth, py(y), faint)
		text(&b, left-8, py(y)+4, "end", short(y), "")
	}
	for _, x := range c.series[0].xs {
		line(&b, px(x), top, px(x), top+plotHeight, faint)
		text(&b, px(x), top+plotHeight+18, "middle", short(x), "")
	}
	for i, s := range c.series {
		points := make([]string, len(s.xs))
		for j := range s.xs {
			points[j] = fmt.Sprintf("%.1f,%.1f", px(s.xs[j]), py(s.ys[j]))
			fmt.Fprintf(&b, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>`+"\n", px(s.xs[j]), py(s.ys[j]), s.colour)
		}
		fmt.Fprintf(&b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="1.8"/>`+"\n", strings.Join(points, " "), s.colour)
		y := top + 12 + 22*float64(i)
		fmt.Fprintf(&b, `<circle cx="%.1f" cy="%.1f" r="4" fill="%s"/>`+"\n", left+plotWidth+24, y-4, s.colour)
		text(&b, left+plotWidth+36, y, "start", s.name, "")
	}
	return b.String() + "</svg>\n"
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

func text(b *strings.Builder, x, y float64, anchor, s string, extra attrs) {
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="%s"%s>%s</text>`+"\n", x, y, anchor, extra, s)
}

func line(b *strings.Builder, x1, y1, x2, y2 float64, extra attrs) {
	fmt.Fprintf(b, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s"%s/>`+"\n", x1, y1, x2, y2, ink, extra)
}
