package main

import (
	"fmt"
	"strings"

	"github.com/fleetlimit/fleetlimit/docs/plot/canvas"
	"github.com/fleetlimit/fleetlimit/limiter"
)

// A panel is a rectangle of the canvas with axes: time to the right, a number upwards.
type panel struct {
	*canvas.Canvas
	x, y, width, height float64
	from, to            limiter.Instant
	low, high           float64 // values at the bottom and at the top
}

func (p *panel) px(at limiter.Instant) float64 {
	return p.x + p.width*float64(at-p.from)/float64(p.to-p.from)
}

func (p *panel) py(value float64) float64 {
	return p.y + p.height*(p.high-value)/(p.high-p.low)
}

// axes draws a grid line at each value, and one every so often in time, with its label when labels is set.
func (p *panel) axes(values []float64, every limiter.Instant, labels bool) {
	for _, v := range values {
		p.Line(p.x, p.py(v), p.x+p.width, p.py(v), canvas.Ink, canvas.Faint)
		p.Text(p.x-8, p.py(v)+4, "end", strings.Replace(fmt.Sprintf("%g", v), "-", "−", 1), canvas.Small)
	}
	for at := p.from; at <= p.to; at += every {
		p.Line(p.px(at), p.y, p.px(at), p.y+p.height, canvas.Ink, canvas.Faint)
		if labels {
			p.Text(p.px(at), p.y+p.height+18, "middle", clock(at), canvas.Small)
		}
	}
}

// clock writes an instant as minutes and seconds.
func clock(at limiter.Instant) string {
	s := at / second
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}

// curve draws samples as a line, and fills what is under it when area is set.
func (p *panel) curve(samples []sample, colour string, area bool, extra string) {
	var path strings.Builder
	for i, s := range samples {
		// What lies on the line between its neighbours is left out.
		if i > 0 && i < len(samples)-1 && samples[i-1].value+samples[i+1].value == 2*s.value {
			continue
		}
		verb := "L"
		if i == 0 {
			verb = "M"
		}
		fmt.Fprintf(&path, "%s%.1f %.1f", verb, p.px(s.at), p.py(s.value))
	}
	if area {
		last := samples[len(samples)-1]
		fmt.Fprintf(p, `<path d="%sL%.1f %.1fL%.1f %.1fZ" fill="%s" fill-opacity="0.22"/>`+"\n",
			path.String(), p.px(last.at), p.py(0), p.px(samples[0].at), p.py(0), colour)
	}
	fmt.Fprintf(p, `<path d="%s" fill="none" stroke="%s" stroke-width="1.8" stroke-linejoin="round"%s/>`+"\n",
		path.String(), colour, extra)
}

// bar draws a bar from zero up to value.
func (p *panel) bar(from, to limiter.Instant, value float64, colour string) {
	fmt.Fprintf(p, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s" fill-opacity="0.75"/>`+"\n",
		p.px(from)+0.5, p.py(value), p.px(to)-p.px(from)-1, p.py(0)-p.py(value), colour)
}
