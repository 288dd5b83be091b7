//go:build !race

// All of this is one goroutine: the race detector would find nothing, and take ten times as long over it.

package limiter

import (
	"flag"
	"math"
	"math/rand/v2"
	"sort"
	"testing"
	"time"
)

// A zipf has the i-th of its keys occur 1/i^1.1 times as often as the first.
type zipf []float64

func newZipf(keys int) zipf {
	z, sum := make(zipf, keys), 0.0
	for i := range z {
		sum += math.Pow(float64(i+1), -1.1)
		z[i] = sum
	}
	return z
}

func (z zipf) key(r *rand.Rand) int { return sort.SearchFloat64s(z, r.Float64()*z[len(z)-1]) }

var tuneAll = flag.Bool("tune.all", false, "measure for longer, and under more limits")

// TestTuneLocalShare measures how many takes are decided without waiting for the store where limits do not bind: 10,000 keys of Zipf
// 1.1, and 5,000 takes a second on each of 15 nodes. They do not get in each other's way there, so one of them is looked at.
func TestTuneLocalShare(t *testing.T) {
	const (
		keys, nodes = 10_000, 15
		gap         = sec / 5_000
	)
	warm, length := Instant(20*sec), Instant(10*sec)
	if *tuneAll {
		warm, length = 60*sec, 90*sec
	}
	z := newZipf(keys)
	for _, test := range []struct {
		name string
		Algorithm
		overshoot, least float64
	}{
		{"bucket, 5 %", bucket, 0.05, 0.85},
		{"bucket, 1 %", bucket, 0.01, 0.75},
		{"log, 1 %", slidingWindowLog, 0.01, 0.85},
		{"log, no credit", slidingWindowLog, 0, 0.85},
		{"fixed, 1 %", fixed, 0.01, 0.85},
		{"fixed, no credit", fixed, 0, 0.85},
		{"sliding, no credit", sliding(1), 0, 0.85},
		{"sliding-60, no credit", sliding(60), 0, 0.73},
	} {
		w := newTune(Rule{
			Algorithm: test.Algorithm, Limit: Limit{Events: 50_000_000, Window: time.Minute}, MaxOvershoot: test.overshoot,
		}, 1, keys)
		w.fleet = nodes
		w.count()
		w.audit.light = true
		var arrive func()
		arrive = func() {
			w.nodes[0].take(z.key(w.Rand), 1)
			w.after(1+int64(w.ExpFloat64()*gap), arrive)
		}
		arrive()
		w.run(begins + warm)
		before := w.audit.sum()
		w.run(begins + warm + length)
		after := w.audit.sum()
		takes := float64(after.takes - before.takes)
		share := float64(after.local-before.local) / takes
		per := func(a, b int64) float64 { return 1000 * float64(a-b) / takes }
		t.Logf("%-22s local %.1f %%, requests per 1000 takes %.0f: %.0f that takes wait for, %.0f refills, %.0f that only give back",
			test.name, 100*share, per(after.loans, before.loans), per(after.needs, before.needs),
			per(after.refills, before.refills), per(after.loans-after.needs-after.refills, before.loans-before.needs-before.refills))
		if share < test.least {
			t.Errorf("%s: local share = %.3f, want at least %.2f", test.name, share, test.least)
		}
	}
}

// TestTuneOverload measures what of a flood is admitted, beside what the algorithm itself admits of it. The audit checks its bound.
func TestTuneOverload(t *testing.T) {
	fleets := []int{20}
	if *tuneAll {
		fleets = []int{2, 20, 100}
	}
	for _, a := range every {
		for _, load := range []float64{1.5, 10} {
			for _, nodes := range fleets {
				limit := Limit{Events: 1000, Window: 10 * time.Second}
				w := newTune(Rule{Algorithm: a.Algorithm, Limit: limit, MaxOvershoot: 0.01}, nodes, 1)
				s := w.flood(flow{}, 20_000, load)
				exact := s.takes - s.exactRefused
				share := float64(s.admitted+s.credited) / float64(exact)
				t.Logf("%-10s %4.0f %% of the limit on %3d nodes: admitted %.2f %% of what the algorithm admits; requests per 1000 takes %.0f",
					a.name, 100*load, nodes, 100*share, 1000*float64(s.loans)/float64(s.takes))
				if w.audit.close(); w.audit.err != nil {
					t.Errorf("%s, %v times the limit on %d nodes: %v", a.name, load, nodes, w.audit.err)
				}
				if share < 0.97 {
					t.Errorf("%s, %v times the limit on %d nodes: admitted = %.3f of what the algorithm admits, want 0.97 or more",
						a.name, load, nodes, share)
				}
			}
		}
	}
}
