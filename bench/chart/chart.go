// Package chart draws the figures of the documentation with gonum.org/v1/plot, in one style that is
// legible on a white page and on a dark one.
package chart

import (
	"bytes"
	"fmt"
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Colours of middle lightness.
var (
	Ink    = color.NRGBA{0x76, 0x80, 0x8a, 0xff} // text and axes
	Red    = color.NRGBA{0xd9, 0x48, 0x3b, 0xff}
	Blue   = color.NRGBA{0x3d, 0x85, 0xd8, 0xff}
	Orange = color.NRGBA{0xd9, 0x83, 0x24, 0xff}
	Green  = color.NRGBA{0x2f, 0x9e, 0x77, 0xff}
	Purple = color.NRGBA{0xa5, 0x67, 0xcf, 0xff}
)

// Dashes is the pattern of a dashed line.
var Dashes = []vg.Length{6, 4}

// Faint returns a transparent c, for areas and grids.
func Faint(c color.NRGBA) color.NRGBA {
	c.A = 0x40
	return c
}

// New returns a figure with axes and a grid, without data.
func New(title, x, y string) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, x, y
	p.Title.Padding = 6
	for _, t := range []*text.Style{
		&p.Title.TextStyle, &p.X.Label.TextStyle, &p.X.Tick.Label, &p.Y.Label.TextStyle, &p.Y.Tick.Label, &p.Legend.TextStyle,
	} {
		t.Color, t.Font.Variant, t.Font.Size = Ink, "Sans", 10
	}
	for _, l := range []*draw.LineStyle{&p.X.LineStyle, &p.X.Tick.LineStyle, &p.Y.LineStyle, &p.Y.Tick.LineStyle} {
		l.Color = Ink
	}
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = Faint(Ink), Faint(Ink)
	p.Add(grid)
	return p
}

// Line adds a curve to a figure. If name is not "", it adds the curve to the legend, too.
func Line(p *plot.Plot, name string, c color.Color, points plotter.XYs) *plotter.Line {
	l, err := plotter.NewLine(points)
	if err != nil {
		panic(fmt.Sprintf("the curve %q: %v", name, err)) // the curve has no points, or a NaN
	}
	l.Color, l.Width = c, 1.5
	p.Add(l)
	if name != "" {
		p.Legend.Add(name, l)
	}
	return l
}

// SVG returns figures of equal size, one below the other, with aligned axes.
func SVG(width, height vg.Length, figures ...*plot.Plot) []byte {
	canvas := vgsvg.New(width, height*vg.Length(len(figures)))
	tiles := draw.Tiles{Rows: len(figures), Cols: 1, PadY: 10, PadTop: 5, PadBottom: 5, PadLeft: 5, PadRight: 10}
	rows := make([][]*plot.Plot, len(figures))
	for i, p := range figures {
		rows[i] = []*plot.Plot{p}
	}
	for i, row := range plot.Align(rows, tiles, draw.New(canvas)) {
		figures[i].Draw(row[0])
	}
	var out bytes.Buffer
	_, _ = canvas.WriteTo(&out) // a write to a buffer cannot fail
	// Without other fonts, a browser that lacks Liberation Sans would use one with serifs.
	return bytes.ReplaceAll(out.Bytes(), []byte(":Liberation Sans;"), []byte(":Liberation Sans,Arial,sans-serif;"))
}
