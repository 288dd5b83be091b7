package main

import (
	"fmt"
	"image/color"
	"math"
	"strings"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/fleetlimit/fleetlimit/bench/chart"
	"github.com/fleetlimit/fleetlimit/limiter"
)

// parts are the numbers of sub-windows in the figure and the table.
var parts = []struct {
	n      int
	colour color.NRGBA
}{{1, chart.Orange}, {5, chart.Purple}, {60, chart.Blue}}

func counter(subWindows int) limiter.Algorithm {
	return limiter.Algorithm{Kind: limiter.SlidingWindow, SubWindows: subWindows}
}

var exactLog = limiter.Algorithm{Kind: limiter.SlidingWindowLog}

// drawSubWindows draws how the count of a sliding window approaches the exact count with more
// sub-windows.
func drawSubWindows() []byte {
	const end = 130 * second
	one := []event{{20 * second, 100}}
	p := timeline("100 requests at once at 0:20: how many of them still count, window 60 s", end, 10*second, 0, 50, 100)
	chart.Line(p, "exact (log)", chart.Ink, thin(used(exactLog, one, end, second/10))).Dashes = chart.Dashes
	rows := []*plot{p}
	for _, k := range parts {
		name := strings.TrimSuffix(fmt.Sprintf("%d sub-windows", k.n), "s"[min(1, k.n-1):])
		chart.Line(p, name, k.colour, thin(used(counter(k.n), one, end, second/10)))
		q := timeline(name+", traffic in bursts: counted above or below the exact number", mixedEnd, minute, -40, 0, 40)
		area(q, k.colour, distance(k.n, second/2))
		rows = append(rows, q)
	}
	rows[len(rows)-1].X.Label.Text = "time, min:s"
	return chart.SVG(8*vg.Inch, 1.75*vg.Inch, rows...)
}

// distance returns samples of the number of events by which a sliding window of n sub-windows counts
// more than the exact log.
func distance(n int, every limiter.Instant) plotter.XYs {
	exact := used(exactLog, bursts(), mixedEnd, every)
	points := used(counter(n), bursts(), mixedEnd, every)
	for i := range points {
		points[i].Y -= exact[i].Y
	}
	return points
}

// subWindowsTable returns a table of how far sliding windows are from the exact log.
func subWindowsTable() string {
	const far = 5 // requests
	var b strings.Builder
	fmt.Fprintf(&b, "| sub-windows | off by, on average | off by more than %d |\n|---|---|---|\n", far)
	for _, k := range parts {
		var off, beyond []float64
		for _, p := range distance(k.n, second/10) {
			distance := math.Abs(p.Y)
			off = append(off, distance)
			if distance > far {
				beyond = append(beyond, distance)
			}
		}
		share := 100 * float64(len(beyond)) / float64(len(off))
		fmt.Fprintf(&b, "| %d | %.1f requests | %.0f %% of the time |\n", k.n, stat.Mean(off, nil), share)
	}
	return b.String()
}
