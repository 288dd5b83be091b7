//go:build !race

package limiter

import (
	"testing"
	"time"
)

// TestTuneSteadyKey measures what a key costs the store that is in steady use on one node, far from its limit: about one request for
// as long as a lease lasts, which brings what is wanted next and takes what is left from before. Where leases end with slots, that
// is one for each slot, of which the longest lease lasts two.
func TestTuneSteadyKey(t *testing.T) {
	const length = 300 // s
	for _, test := range []struct {
		name string
		Algorithm
		overshoot float64
		most      float64 // requests for as long as a lease lasts as a rule
	}{
		{"bucket, 5 %", bucket, 0.05, 1.65},
		{"bucket, 1 %", bucket, 0.01, 1.65},
		{"log", slidingWindowLog, 0, 1.65},
		{"fixed", fixed, 0, 1.4},
		{"sliding", sliding(1), 0, 1.4},
		{"sliding-60", sliding(60), 0, 1.9},
	} {
		for _, perSecond := range []int64{5, 20, 100, 1000} {
			w := newTune(Rule{
				Algorithm: test.Algorithm, Limit: Limit{Events: 50_000_000, Window: time.Minute}, MaxOvershoot: test.overshoot,
			}, 1, 1)
			w.audit.light = true
			s := w.steady(perSecond, length*sec)
			lease := float64(w.rule.LeaseTime()) / sec
			perLease := float64(s.loans) / length * lease
			t.Logf("%-11s %4d takes a second: local %5.1f %%, requests per second %.2f, as a lease lasts %.2f s: %.2f, and per 1000 takes %.1f",
				test.name, perSecond, 100*float64(s.local)/float64(s.takes), float64(s.loans)/length, lease, perLease,
				1000*float64(s.loans)/float64(s.takes))
			if perLease > test.most {
				t.Errorf("%s, %d takes a second: requests while a lease lasts = %.2f, want at most %.2f",
					test.name, perSecond, perLease, test.most)
			}
		}
	}
}

// steady has so many takes per second of one key arrive at random, at one node, and returns what happened within the length of time
// that comes after the first half minute.
func (w *world) steady(perSecond int64, length Instant) (s keyAudit) {
	end := begins + 30*sec + length
	var arrive func()
	arrive = func() {
		w.nodes[0].take(0, 1)
		w.after(1+int64(w.ExpFloat64()*sec/float64(perSecond)), arrive)
	}
	arrive()
	w.run(begins + 30*sec)
	before := w.audit.sum()
	w.run(end)
	s = w.audit.sum()
	s.takes -= before.takes
	s.local -= before.local
	s.loans -= before.loans
	return s
}
