//go:build !race

package limiter

import (
	"fmt"
	"testing"
	"time"
)

// TestTuneMovingTraffic has nine tenths of a limit of 10,000 arrive at ten nodes evenly, and a fifth at one node then: in which all
// that the others have leased is missing. It measures how many takes are denied beyond those that the algorithm itself denies on the
// same arrivals, as a fraction of the limit, and how long such takes are told to wait: until the last lease ends.
func TestTuneMovingTraffic(t *testing.T) {
	for _, a := range []struct {
		name string
		Algorithm
		window time.Duration
	}{
		{"bucket", bucket, time.Minute},
		{"log", slidingWindowLog, time.Minute},
		{"log of an hour", slidingWindowLog, time.Hour},
		{"sliding", sliding(1), time.Minute},
		{"sliding-60", sliding(60), time.Minute},
		{"fixed", fixed, time.Minute},
	} {
		for _, spread := range []Instant{10 * sec, 30 * sec} {
			for _, moved := range []Instant{sec / 10, sec, 5 * sec} {
				w := newTune(Rule{
					Algorithm: a.Algorithm, Limit: Limit{Events: 10_000, Window: a.window}, MaxOvershoot: 0.01,
				}, 10, 1)
				t.Run(fmt.Sprintf("%s/9000 in %d s, 2000 in %.1f s", a.name, spread/sec, float64(moved)/sec), func(t *testing.T) {
					w.testMovingTraffic(t, spread, moved)
				})
			}
		}
	}
}

// testMovingTraffic has 9000 takes arrive anywhere in so many µs, and then 2000 at one node.
func (w *world) testMovingTraffic(t *testing.T, spread, moved Instant) {
	for range 9000 {
		w.after(w.Int64N(int64(spread)), func() { w.nodes[w.IntN(len(w.nodes))].take(0, 1) })
	}
	for range 2000 {
		w.after(int64(spread)+w.Int64N(int64(moved)), func() { w.nodes[0].take(0, 1) })
	}
	w.run(begins + spread + moved + sec)
	if w.audit.err != nil {
		t.Fatal(w.audit.err)
	}
	s := w.audit.sum()
	share := float64(s.refused+s.abandoned-s.exactRefused) / float64(w.rule.Limit.Events)
	t.Logf("falsely denied = %.2f %% of the limit, falsely told to wait for %.1f s at most, local %.0f %%, requests per 1000 takes %.0f", 100*share,
		float64(w.audit.keys[0].longestFalseWait)/sec, 100*float64(s.local)/float64(s.takes), 1000*float64(s.loans)/float64(s.takes))
	if share > 0.02 {
		t.Errorf("falsely denied = %.4f of the limit, want at most 0.02", share)
	}
	if wait, most := w.audit.keys[0].longestFalseWait, int64(2*maxLease+leaseJitter); wait > most {
		t.Errorf("falsely told to wait for %d µs, want at most %d, when the last lease has ended", wait, most)
	}
}
