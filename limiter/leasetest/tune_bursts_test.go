//go:build !race

package leasetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// TestTuneBursts has bursts of a fifth of the limit arrive at fifteen nodes, below and above the
// limit. It measures how many takes are denied beyond those that the algorithm itself denies on the
// same arrivals. A log denies more, as leased events count until a window after their lease.
//
// Nodes ask again after a random time, which decides much. So bursts are drawn several times. Each
// bound is five standard deviations above the mean of other seeds: that of a bucket is 0.13 %, and
// its deviation is 0.05 %.
func TestTuneBursts(t *testing.T) {
	for _, test := range rows([]tuneCase{
		{"bucket", bucket, 0.004},
		{"log", log, 0.04},
		{"sliding-5", sliding(5), 0.001},
	}, []tuneCase{
		{"sliding", sliding(1), 0.001},
		{"fixed", fixed, 0.001},
	}) {
		for _, load := range rows([]float64{0.9}, []float64{1.5}) {
			t.Run(fmt.Sprintf("%s/load %g", test.name, load), func(t *testing.T) {
				t.Parallel()
				limit := limiter.Rule{
					Algorithm: test.Algorithm, Limit: limiter.Limit{Events: 1000, Window: 20 * time.Second},
				}
				var takes, falsely, exactly, local int64
				times := 5
				if *tuneAll {
					times = 20
				}
				for i := range uint64(times) {
					inSeededSimulation(t, *simulationSeed+i, limit, 15, 1, func(_ *testing.T, s *simulation) {
						sum := s.burst(100, limit.Limit.Events/5, load)
						takes, local = takes+sum.takes, local+sum.local
						falsely, exactly = falsely+sum.denied+sum.failed-sum.exactDenied, exactly+sum.exactDenied
					})
				}
				share := func(n int64) float64 { return float64(n) / float64(takes) }
				t.Logf("%.3f %% denied that the algorithm admits, and %.3f %% with it; local %.0f %%",
					100*share(falsely), 100*share(exactly), 100*share(local))
				if share(falsely) >= test.bound {
					t.Errorf("falsely denied = %.4f of all takes, want less than %v", share(falsely), test.bound)
				}
			})
		}
	}
}

// burst has bursts of takes arrive at random nodes, at load times the limit, and returns what
// happened.
func (s *simulation) burst(bursts int, size int64, load float64) outcome {
	gap := float64(window(s.rule)) / (load * float64(s.rule.Limit.Events)) * float64(size)
	for range bursts {
		s.mu.Lock()
		pause := s.coming.ExpFloat64() * gap
		s.mu.Unlock()
		sleep(limiter.Instant(pause))
		for range size {
			s.mu.Lock()
			n := s.nodes[s.coming.IntN(len(s.nodes))]
			s.mu.Unlock()
			n.take(0, 1)
			sleep[int64](ms)
		}
	}
	sleep[int64](100 * ms)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.checker.sum()
}
