//go:build !race

// The race detector would take ten times as long over these.

package leasetest

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

var tuneAll = flag.Bool("tune.all", false, "measure for longer, and under more limits")

// rows returns few of the rows of a table, or all of them with -tune.all: make test plays what
// guards a promise, make tune all.
func rows[T any](few, more []T) []T {
	if *tuneAll {
		return slices.Concat(few, more)
	}
	return few
}

// A tuneCase is an algorithm with the bound of what is measured.
type tuneCase struct {
	name string
	limiter.Algorithm
	bound float64
}

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

// measure has takes of keys arrive at one node, every gap µs on average, and returns what happened
// within the length of time that comes after the warm-up.
func (s *simulation) measure(gap float64, key func(*rand.Rand) int, warm, length limiter.Instant) outcome {
	s.checker.light = true
	rng := rand.New(rand.NewPCG(1, 3))
	arrive := func(end limiter.Instant) outcome {
		for s.now() < end {
			s.nodes[0].take(key(rng), 1)
			sleep(1 + int64(rng.ExpFloat64()*gap))
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.checker.sum()
	}
	before := arrive(epoch + warm)
	sum := arrive(epoch + warm + length)
	sum.takes -= before.takes
	sum.local -= before.local
	sum.requests -= before.requests
	sum.needs -= before.needs
	sum.refills -= before.refills
	return sum
}

// TestTuneLocalShare measures how many takes are decided without waiting for the store where limits
// do not bind: 10,000 keys of Zipf 1.1, and 5,000 takes a second on each of 15 nodes. Nodes do not
// get in each other's way there, so one of them is simulated.
func TestTuneLocalShare(t *testing.T) {
	const (
		keys, nodes = 10_000, 15
		gap         = sec / 5_000
	)
	warm, length := limiter.Instant(15*sec), limiter.Instant(5*sec)
	if *tuneAll {
		warm, length = 60*sec, 90*sec
	}
	z := newZipf(keys)
	for _, test := range rows([]tuneCase{
		{"bucket", bucket, 0.93},
		{"sliding-60", sliding(60), 0.73},
	}, []tuneCase{
		{"log", log, 0.85},
		{"fixed", fixed, 0.85},
		{"sliding", sliding(1), 0.85},
	}) {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			limit := limiter.Rule{
				Algorithm: test.Algorithm, Limit: limiter.Limit{Events: 50_000_000, Window: time.Minute},
			}
			inSimulation(t, limit, 0, keys, func(t *testing.T, s *simulation) {
				s.others = nodes - 1
				s.addNodes(1)
				sum := s.measure(gap, z.key, warm, length)
				share := float64(sum.local) / float64(sum.takes)
				per := func(n int64) float64 { return 1000 * float64(n) / float64(sum.takes) }
				t.Logf("local %.1f %%, requests per 1000 takes %.0f: %.0f that takes wait for, %.0f refills, %.0f that only return",
					100*share, per(sum.requests), per(sum.needs), per(sum.refills), per(sum.requests-sum.needs-sum.refills))
				if share < test.bound {
					t.Errorf("local share = %.3f, want at least %.2f", share, test.bound)
				}
			})
		})
	}
}

// TestTuneSteadyKey measures what a key costs the store that is in steady use on one node, far from
// its limit: about one request for as long as a lease lasts, which brings what is wanted next and
// returns what is left from before. Where leases expire with slots, that is one for each slot, of
// which the longest lease lasts two.
func TestTuneSteadyKey(t *testing.T) {
	for _, test := range []tuneCase{ // the bound is requests for as long as a lease lasts as a rule
		{"bucket", bucket, 1.65},
		{"log", log, 1.65},
		{"fixed", fixed, 1.4},
		{"sliding", sliding(1), 1.4},
		{"sliding-60", sliding(60), 1.9},
	} {
		for _, perSecond := range rows([]int64{20, 100}, []int64{5, 1000}) {
			t.Run(fmt.Sprintf("%s/%d a second", test.name, perSecond), func(t *testing.T) {
				t.Parallel()
				const warm, length = limiter.Instant(30 * sec), limiter.Instant(300 * sec)
				limit := limiter.Rule{
					Algorithm: test.Algorithm, Limit: limiter.Limit{Events: 50_000_000, Window: time.Minute},
				}
				inSimulation(t, limit, 1, 1, func(t *testing.T, s *simulation) {
					sum := s.measure(sec/float64(perSecond), func(*rand.Rand) int { return 0 }, warm, length)
					perLease := float64(sum.requests) / float64(length) * float64(s.rule.LeaseTime())
					t.Logf("local %5.1f %%, requests per second %.2f, as a lease lasts: %.2f, per 1000 takes %.1f",
						100*float64(sum.local)/float64(sum.takes), float64(sum.requests)/float64(length/sec), perLease,
						1000*float64(sum.requests)/float64(sum.takes))
					if perLease > test.bound {
						t.Errorf("requests while a lease lasts = %.2f, want at most %.2f", perLease, test.bound)
					}
				})
			})
		}
	}
}

// TestTuneOverload measures what of a flood is admitted, beside what the algorithm itself admits of
// it. The checker checks the bound.
func TestTuneOverload(t *testing.T) {
	for _, a := range algorithms {
		for _, load := range []float64{1.5, 10} {
			for _, nodes := range rows([]int{20}, []int{2, 100}) {
				t.Run(fmt.Sprintf("%s/%v times the limit/%d nodes", a.name, load, nodes), func(t *testing.T) {
					t.Parallel()
					takes := int64(10_000)
					if load < 2 && !*tuneAll {
						takes = 5000 // idle nodes take time too
					}
					limit := limiter.Limit{Events: 1000, Window: 10 * time.Second}
					inSimulation(t, limiter.Rule{Algorithm: a.Algorithm, Limit: limit}, nodes, 1, func(t *testing.T, s *simulation) {
						sum := s.flood(flow{}, takes, load)
						exact := sum.takes - sum.exactDenied
						share := float64(sum.admitted) / float64(exact)
						t.Logf("admitted %.2f %% of what the algorithm admits; requests per 1000 takes %.0f",
							100*share, 1000*float64(sum.requests)/float64(sum.takes))
						s.quiet()
						s.mu.Lock()
						s.checker.close()
						s.mu.Unlock()
						if err := s.err(); err != nil {
							t.Error(err)
						}
						if share < 0.96 {
							t.Errorf("admitted = %.3f of what the algorithm admits, want 0.96 or more", share)
						}
					})
				})
			}
		}
	}
}
