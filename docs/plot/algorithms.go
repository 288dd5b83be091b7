package main

import (
	"fmt"
	"strings"

	"github.com/fleetlimit/fleetlimit/docs/plot/canvas"
	"github.com/fleetlimit/fleetlimit/limiter"
)

// The algorithms, in the order of the page.
var algorithms = []struct {
	limiter.Algorithm
	colour string
}{
	{limiter.Algorithm{Kind: limiter.TokenBucket}, canvas.Blue},
	{limiter.Algorithm{Kind: limiter.SlidingWindowLog}, canvas.Green},
	{limiter.Algorithm{Kind: limiter.SlidingWindow}, canvas.Purple},
	{limiter.Algorithm{Kind: limiter.FixedWindow}, canvas.Orange},
}

// mixedEnd is when the figure of mixed traffic ends.
const mixedEnd = 8 * minute

// lastMinute samples how many of events came within the minute that ends at each instant.
func lastMinute(events []event) []sample {
	return used(limiter.Algorithm{Kind: limiter.SlidingWindowLog}, events, mixedEnd, second/2)
}

// highest returns the sample with the largest value, the first of them.
func highest(samples []sample) (peak sample) {
	for _, s := range samples {
		if s.value > peak.value {
			peak = s
		}
	}
	return peak
}

// drawAlgorithms draws what each algorithm admits of the same traffic.
func drawAlgorithms() string {
	const left, width, rowHeight, rowGap = 62, 740, 96, 50
	c := canvas.New(830, 5*(rowHeight+rowGap)+52, "What each algorithm admits of the same traffic")
	row := 0
	next := func(title string, high float64) *panel {
		y := float64(34 + row*(rowHeight+rowGap))
		p := &panel{Canvas: c, x: left, y: y, width: width, height: rowHeight, to: mixedEnd, high: high}
		row++
		c.Text(p.x, p.y-12, "start", title, canvas.Bold)
		return p
	}

	const bin = 5 * second
	offered := mixed()
	p := next("offered: requests in each 5 s", 60)
	p.axes([]float64{0, 25, 50}, minute, false)
	for at := limiter.Instant(0); at < mixedEnd; at += bin {
		n := 0
		for _, e := range offered {
			if e.at >= at && e.at < at+bin {
				n++
			}
		}
		if n > 0 {
			p.bar(at, at+bin, float64(n), canvas.Ink)
		}
	}

	for i, a := range algorithms {
		admitted := admit(a.Algorithm, offered)
		p := next(a.Kind.String()+": admitted within the last 60 s", 230)
		p.axes([]float64{0, 100, 200}, minute, i == len(algorithms)-1)
		samples := lastMinute(admitted)
		p.curve(samples, a.colour, true, "")
		p.Line(p.x, p.py(100), p.x+p.width, p.py(100), canvas.Red, canvas.Dashed)
		peak := highest(samples)
		p.Text(p.px(peak.at), p.py(peak.value)-5, "middle", fmt.Sprintf("%g", peak.value), canvas.Bold+` fill="`+a.colour+`"`)
		p.Text(p.x+p.width, p.y-12, "end", fmt.Sprintf("%d of %d admitted", total(admitted), total(offered)), canvas.Small)
		if i == 0 {
			p.Text(p.x+6, p.py(100)-6, "start", "limit: 100 per minute", canvas.Small+` fill="`+canvas.Red+`"`)
		}
	}
	c.Text(left+width/2, float64(34+5*(rowHeight+rowGap)-rowGap+40), "middle", "time, min:s (fixed windows end at each full minute)", "")
	return c.SVG()
}

// algorithmsTable returns the figures of the same traffic.
func algorithmsTable() string {
	var b strings.Builder
	offered := mixed()
	b.WriteString("| algorithm | offered | admitted | most in any 60 s |\n|---|---|---|---|\n")
	for _, a := range algorithms {
		admitted := admit(a.Algorithm, offered)
		fmt.Fprintf(&b, "| `%v` | %d | %d | %d |\n", a.Kind, total(offered), total(admitted), mostInAMinute(admitted))
	}
	return b.String()
}

// mostInAMinute returns how many of events the minute with the most of them holds.
func mostInAMinute(events []event) (most int) {
	first := 0
	for i, e := range events {
		for events[first].at <= e.at-minute {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}
