package limiter

import (
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

// TestTuneLocalShare prints how many takes are decided without waiting for the store where limits do not bind: 10,000 keys of Zipf
// 1.1 and 5,000 takes a second on each node, of which there are 15.
func TestTuneLocalShare(t *testing.T) {
	const (
		keys, nodes = 10_000, 15
		warm, end   = 60 * sec, 150 * sec
		gap         = sec / 5_000
	)
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
		{"sliding, 1 %", sliding(1), 0.01, 0.85},
		{"sliding-60, no credit", sliding(60), 0, 0},
	} {
		w := newTune(Rule{
			Algorithm: test.Algorithm, Limit: Limit{Events: 50_000_000, Window: time.Minute}, MaxOvershoot: test.overshoot,
		}, 1, keys)
		w.fleet = nodes // one of which is enough to be looked at: they do not get in each other's way
		w.audit.light = true
		var arrive func()
		arrive = func() {
			w.nodes[0].take(z.key(w.Rand), 1)
			w.after(1+int64(w.ExpFloat64()*gap), arrive)
		}
		arrive()
		w.run(begins + warm)
		before := w.audit.sum()
		w.run(begins + end)
		s := w.audit.sum()
		takes := s.takes - before.takes
		share := float64(s.local-before.local) / float64(takes)
		t.Logf("%-22s local %.1f %%, store requests per 1000 takes %.0f: need %.0f refill %.0f back %.0f empty %.0f", test.name, 100*share,
			float64(s.loans-before.loans)/float64(takes)*1000,
			float64(s.needs-before.needs)/float64(takes)*1000,
			float64(s.refills-before.refills)/float64(takes)*1000,
			float64(s.backs-before.backs)/float64(takes)*1000,
			float64(s.empties-before.empties)/float64(takes)*1000)
		if share < test.least {
			t.Errorf("%s: local share = %.3f, want at least %.2f", test.name, share, test.least)
		}
	}
}

// newTune returns a world in which nothing goes wrong, with the store 1.5 ms away.
func newTune(r Rule, nodes, keys int) *world {
	w := &world{Rand: rand.New(rand.NewPCG(1, 2)), now: begins, rule: mustNew(r)}
	w.most = w.rule
	w.net = network{delay: 700, jitter: 100}
	for range nodes {
		w.nodes = append(w.nodes, w.newMember(0))
	}
	w.audit, w.vault = w.newAudit(keys), w.newVault(keys)
	return w
}

// sum returns what happened to all keys together.
func (a *audit) sum() (s keyAudit) {
	for i := range a.keys {
		k := &a.keys[i]
		s.takes += k.takes
		s.local += k.local
		s.refused += k.refused
		s.abandoned += k.abandoned
		s.loans += k.loans
		s.needs += k.needs
		s.refills += k.refills
		s.empties += k.empties
		s.backs += k.backs
		s.exactRefused += k.exactRefused
	}
	return s
}

// TestTuneFalseRejections prints how many takes are denied beyond those that the algorithm itself denies on the same arrivals, at
// 90 % of the limit and evenly over all nodes.
func TestTuneFalseRejections(t *testing.T) {
	for _, window := range []time.Duration{time.Second, time.Minute} {
		for _, a := range []struct {
			name string
			Algorithm
		}{{"bucket", bucket}, {"log", slidingWindowLog}, {"fixed", fixed}, {"sliding", sliding(1)}, {"sliding-10", sliding(10)}} {
			for _, events := range []int64{100, 1000, 10_000} {
				for _, nodes := range []int{2, 20} {
					w := newTune(Rule{
						Algorithm: a.Algorithm, Limit: Limit{Events: events, Window: window}, MaxOvershoot: 0.01,
					}, nodes, 1)
					gap := float64(window.Microseconds()) / (0.9 * float64(events))
					end := begins + Instant(max(3, 200_000/events)*window.Microseconds())
					var arrive func()
					arrive = func() {
						if w.now < end {
							w.nodes[w.IntN(nodes)].take(0, 1)
							w.after(int64(w.ExpFloat64()*gap), arrive)
						}
					}
					arrive()
					w.run(end + 10*maxLease)
					s := w.audit.sum()
					takes := float64(s.takes)
					share := float64(s.refused+s.abandoned-s.exactRefused) / takes
					mark := ""
					if share >= 0.001 {
						mark = " <----"
					}
					t.Logf("%-10s %5d/%-4v %2d nodes: denied %.3f %%, by the algorithm %.3f %%, more %.3f %%; local %.0f %%, requests per 1000: %.0f%s",
						a.name, events, window, nodes, 100*float64(s.refused)/takes, 100*float64(s.exactRefused)/takes,
						100*share, 100*float64(s.local)/takes, 1000*float64(s.loans)/takes, mark)
				}
			}
		}
	}
}
