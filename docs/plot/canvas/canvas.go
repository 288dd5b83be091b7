// Package canvas draws the figures of the documentation as SVG, so that all of them look alike.
package canvas

import (
	"fmt"
	"strings"
)

// Colours of middle lightness, so that they read on a white page and on a dark one.
const (
	Ink    = "#76808a" // text and axes
	Red    = "#d9483b"
	Blue   = "#3d85d8"
	Orange = "#d98324"
	Green  = "#2f9e77"
	Purple = "#a567cf"
)

// Attributes of elements that are used again and again.
const (
	Faint  = ` stroke-opacity="0.28"`
	Dashed = ` stroke-dasharray="6 4" stroke-width="1.3"`
	Bold   = ` font-weight="600"`
	Small  = ` font-size="12"`
)

// A Canvas is an SVG under construction; what is written to it are further elements. Coordinates are pixels from the top
// left.
type Canvas struct{ strings.Builder }

// New returns a canvas with nothing on it.
func New(width, height int, title string) *Canvas {
	c := new(Canvas)
	fmt.Fprintf(c, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" `+
		`font-family="system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif" font-size="13" fill="%s">`+"\n",
		width, height, width, height, Ink)
	fmt.Fprintf(c, "<title>%s</title>\n", title)
	return c
}

// SVG returns the finished picture.
func (c *Canvas) SVG() string { return c.String() + "</svg>\n" }

// Text writes s at x, y; anchor is start, middle or end, and extra further attributes.
func (c *Canvas) Text(x, y float64, anchor, s, extra string) {
	fmt.Fprintf(c, `<text x="%.1f" y="%.1f" text-anchor="%s"%s>%s</text>`+"\n", x, y, anchor, extra, s)
}

// Line draws a straight line; extra says its dashes, width or opacity.
func (c *Canvas) Line(x1, y1, x2, y2 float64, colour, extra string) {
	fmt.Fprintf(c, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s"%s/>`+"\n", x1, y1, x2, y2, colour, extra)
}
