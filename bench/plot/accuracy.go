package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/fleetlimit/fleetlimit/bench/chart"
	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/sim"
)

// mostParts is the highest number of sub-windows that is compared with the log.
const mostParts = 60

// accuracyEnd is the time in which requests arrive for the comparison.
const accuracyEnd = 30 * minute

// around returns requests of 20 keys. Each key has half to twice the limit on average. Requests come
// independently of each other, or in bursts of up to half of the limit.
func around(bursts bool) []sim.Arrival {
	rng := rand.New(rand.NewPCG(3, 4))
	var all []sim.Arrival
	for key := range sim.Key(20) {
		rate := float64(limit.Events) * (0.5 + 1.5*rng.Float64()) / float64(minute)
		for at := 0.0; ; {
			together := 1
			if bursts {
				together = 1 + rng.IntN(int(limit.Events/2))
			}
			if at += rng.ExpFloat64() * float64(together) / rate; at >= float64(accuracyEnd) {
				break
			}
			for range together {
				all = append(all, sim.Arrival{At: start + limiter.Instant(at), Key: key, Cost: 1})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b sim.Arrival) int { return int(a.At - b.At) })
	return all
}

// An accuracy has the decisions of sliding windows with 1 and more sub-windows on one series of
// requests.
type accuracy struct {
	requests int64
	exact    int64 // number of requests that the log admits
	windows  []sim.Algorithm
}

func measureAccuracy(requests []sim.Arrival) accuracy {
	algorithms := []limiter.Algorithm{exactLog}
	for n := 1; n <= mostParts; n++ {
		algorithms = append(algorithms, counter(n))
	}
	study, err := sim.New(sim.Options{
		Rule: limiter.Rule{Algorithm: exactLog, Limit: limit}, Candidates: []limiter.Limit{}, Algorithms: algorithms,
	})
	if err != nil {
		panic(err) // the limit is a constant of this package
	}
	for _, r := range requests {
		study.Add(r)
	}
	all := study.Report(0, nil).Algorithms
	return accuracy{int64(len(requests)), all[0].Admitted, all[1:]}
}

// otherwise returns, by the number of sub-windows, the percentage of the requests that are decided
// otherwise than by the log.
func (a accuracy) otherwise() (points plotter.XYs) {
	for _, w := range a.windows {
		points = append(points, plotter.XY{X: float64(w.SubWindows), Y: 100 * float64(w.Differs) / float64(a.requests)})
	}
	return points
}

// excess returns, by the number of sub-windows, the highest number of events above the limit.
func (a accuracy) excess() (points plotter.XYs) {
	for _, w := range a.windows {
		points = append(points, plotter.XY{X: float64(w.SubWindows), Y: float64(w.Excess)})
	}
	return points
}

var (
	byChance = sync.OnceValue(func() accuracy { return measureAccuracy(around(false)) })
	inBursts = sync.OnceValue(func() accuracy { return measureAccuracy(around(true)) })
)

func drawAccuracy() []byte {
	draw := func(title, unit string, points func(accuracy) plotter.XYs) *plot {
		p := chart.New(title, "", unit)
		p.X.Min, p.X.Max, p.Y.Min = 0, mostParts, 0
		p.Legend.Top = true
		chart.Line(p, "in bursts", chart.Orange, points(inBursts()))
		chart.Line(p, "by chance", chart.Blue, points(byChance()))
		return p
	}
	otherwise := draw("Requests decided otherwise than by the exact log", "percent", accuracy.otherwise)
	excess := draw("Above the limit of 100 in the worst minute of a key", "events", accuracy.excess)
	excess.X.Label.Text = "sub-windows"
	return chart.SVG(8*vg.Inch, 2.2*vg.Inch, otherwise, excess)
}

// accuracyTable returns a table of how the decisions of sliding windows differ from those of the log.
func accuracyTable() string {
	var b strings.Builder
	b.WriteString("| sub-windows | by chance: decided otherwise | admitted | worst excess | in bursts: decided otherwise | admitted | worst excess |\n" +
		"|---|---|---|---|---|---|---|\n")
	chance, bursts := byChance(), inBursts()
	for _, n := range []int{1, 2, 5, 10, 30, 60} {
		fmt.Fprintf(&b, "| %d | %s | %s |\n", n, chance.row(n), bursts.row(n))
	}
	return b.String()
}

func (a accuracy) row(n int) string {
	w := a.windows[n-1]
	return fmt.Sprintf("%.2f %% | %+.2f %% | %d events", 100*float64(w.Differs)/float64(a.requests),
		100*float64(w.Admitted-a.exact)/float64(a.exact), w.Excess)
}
