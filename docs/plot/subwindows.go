package main

import (
	"fmt"
	"math"
	"strings"

	"github.com/fleetlimit/fleetlimit/docs/plot/canvas"
	"github.com/fleetlimit/fleetlimit/limiter"
)

// The numbers of sub-windows that are compared.
var parts = []struct {
	n      int
	colour string
}{{1, canvas.Orange}, {5, canvas.Purple}, {60, canvas.Blue}}

func counter(subWindows int) limiter.Algorithm {
	return limiter.Algorithm{Kind: limiter.SlidingWindow, SubWindows: subWindows}
}

var exactLog = limiter.Algorithm{Kind: limiter.SlidingWindowLog}

// drawSubWindows draws how counters with more sub-windows come closer to the exact window.
func drawSubWindows() string {
	const left, width, height = 62, 740, 190
	c := canvas.New(830, 664, "The sliding window counter with 1, 5 and 60 sub-windows")

	// The legend.
	x := float64(left)
	entry := func(colour, label, extra string, room float64) {
		c.Line(x, 16, x+26, 16, colour, ` stroke-width="2.4"`+extra)
		c.Text(x+33, 20, "start", label, "")
		x += room
	}
	for _, k := range parts {
		entry(k.colour, fmt.Sprintf("%d sub-window%s", k.n, plural(k.n)), "", 150)
	}
	entry(canvas.Ink, "exact (sliding window log)", ` stroke-dasharray="6 4"`, 0)

	one := []event{{20 * second, 100}}
	p := &panel{Canvas: c, x: left, y: 66, width: width, height: height, to: 130 * second, high: 110}
	c.Text(p.x, p.y-14, "start", "100 requests at once at 0:20: how many of them still count, window 60 s", canvas.Bold)
	p.axes([]float64{0, 50, 100}, 10*second, true)
	p.curve(used(exactLog, one, p.to, second/10), canvas.Ink, false, ` stroke-dasharray="6 4"`)
	for _, k := range parts {
		p.curve(used(counter(k.n), one, p.to, second/10), k.colour, false, "")
	}

	const top, rowHeight, rowGap = 350, 76, 18
	c.Text(left, top-16, "start", "traffic in bursts: requests counted above (+) or below (−) the exact number in the window", canvas.Bold)
	for i, k := range parts {
		y := float64(top + i*(rowHeight+rowGap))
		q := &panel{Canvas: c, x: left, y: y, width: width, height: rowHeight, to: mixedEnd, low: -45, high: 45}
		q.axes([]float64{-40, 0, 40}, minute, i == len(parts)-1)
		q.curve(distance(k.n, second/2), k.colour, true, "")
	}
	c.Text(left+width/2, top+3*rowHeight+2*rowGap+40, "middle", "time, min:s", "")
	return c.SVG()
}

func plural(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}

// distance samples how many events more than the exact log a counter of n sub-windows counts on traffic in bursts.
func distance(n int, every limiter.Instant) []sample {
	exact := used(exactLog, bursts(), mixedEnd, every)
	samples := used(counter(n), bursts(), mixedEnd, every)
	for i := range samples {
		samples[i].value -= exact[i].value
	}
	return samples
}

// subWindowsTable returns how far the counters are from the exact log.
func subWindowsTable() string {
	const far = 5 // requests
	var b strings.Builder
	fmt.Fprintf(&b, "| sub-windows | off by, on average | off by more than %d |\n|---|---|---|\n", far)
	for _, k := range parts {
		sum, beyond := 0.0, 0
		samples := distance(k.n, second/10)
		for _, s := range samples {
			off := math.Abs(s.value)
			sum += off
			if off > far {
				beyond++
			}
		}
		n := float64(len(samples))
		fmt.Fprintf(&b, "| %d | %.1f requests | %.0f %% of the time |\n", k.n, sum/n, 100*float64(beyond)/n)
	}
	return b.String()
}
