package main

import (
	"fmt"
	"image/color"
	"strings"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/fleetlimit/fleetlimit/bench/chart"
	"github.com/fleetlimit/fleetlimit/limiter"
)

// algorithms are the algorithms, in the order of the page.
var algorithms = []struct {
	limiter.Algorithm
	colour color.NRGBA
}{
	{limiter.Algorithm{Kind: limiter.TokenBucket}, chart.Blue},
	{limiter.Algorithm{Kind: limiter.SlidingWindowLog}, chart.Green},
	{limiter.Algorithm{Kind: limiter.SlidingWindow}, chart.Purple},
	{limiter.Algorithm{Kind: limiter.FixedWindow}, chart.Orange},
}

// mixedEnd is the end of the figure of mixed traffic.
const mixedEnd = 8 * minute

// drawAlgorithms draws which part of the mixed traffic each algorithm admits.
func drawAlgorithms() []byte {
	offered := mixed()
	p := timeline("offered: requests in each 5 s", mixedEnd, minute, 0, 25, 50)
	histogram := chart.Line(p, "", chart.Ink, perInterval(offered, 5*second))
	histogram.StepStyle, histogram.FillColor = plotter.PostStep, chart.Faint(chart.Ink)
	rows := []*plot{p}
	for _, a := range algorithms {
		admitted := admit(a.Algorithm, offered)
		title := fmt.Sprintf("%v: admitted within the last 60 s; %d of %d in all", a.Kind, total(admitted), total(offered))
		p := timeline(title, mixedEnd, minute, 0, 100, 200)
		samples := used(exactLog, admitted, mixedEnd, second/2)
		area(p, a.colour, samples)
		bound := chart.Line(p, "limit: 100 per minute", chart.Red, plotter.XYs{{X: 0, Y: 100}, {X: seconds(mixedEnd), Y: 100}})
		bound.Dashes = chart.Dashes
		mark(p, a.colour, highest(samples))
		rows = append(rows, p)
	}
	rows[len(rows)-1].X.Label.Text = "time, min:s (fixed windows end at each full minute)"
	return chart.SVG(8*vg.Inch, 1.5*vg.Inch, rows...)
}

// perInterval returns the number of events in each interval. The x of a point is the beginning of its
// interval.
func perInterval(events []event, length limiter.Instant) plotter.XYs {
	points := make(plotter.XYs, mixedEnd/length+1)
	for i := range points {
		points[i].X = seconds(limiter.Instant(i) * length)
	}
	for _, e := range events {
		points[e.at/length].Y++
	}
	return points
}

// highest returns the point with the highest value. If there are several, it returns the first one.
func highest(points plotter.XYs) (peak plotter.XY) {
	for _, p := range points {
		if p.Y > peak.Y {
			peak = p
		}
	}
	return peak
}

// algorithmsTable returns a table of what each algorithm admits of the mixed traffic.
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

// mostInAMinute returns the highest number of events in any minute.
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
