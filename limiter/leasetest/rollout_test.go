//go:build !race

package leasetest

import (
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// TestLeaseModelRollingDeployment restarts the nodes of a fleet one after the other, and has a
// burst of takes of an exhausted key arrive at each when all others count it. A node that has
// restarted admits nothing that the store has not debited.
func TestLeaseModelRollingDeployment(t *testing.T) {
	const nodes, burst = 10, 60
	for _, a := range algorithms {
		for _, rounds := range []int{3, 30} {
			inExhaustedFleet(t, a.Algorithm, nodes, func(t *testing.T, s *simulation) {
				for _, n := range s.nodes {
					n.burst(burst)
				}
				for range rounds {
					for i := range s.nodes {
						s.mu.Lock()
						s.nodes[i].restart()
						s.mu.Unlock()
						s.skip(2 * heartbeat)
						s.nodes[i].burst(burst)
					}
				}
				got := s.overAdmission(t)
				t.Logf("%s: over-admission in %d rounds = %.2f %%", a.name, rounds, 100*got)
				if got > 0.01 {
					t.Errorf("%s: over-admission in %d rounds = %.4f of the limit, want at most 0.01", a.name, rounds, got)
				}
			})
		}
	}
}

// inExhaustedFleet runs a test on a fleet that has run for long, under a limit of 100,000 a day
// that is used up.
func inExhaustedFleet(t *testing.T, a limiter.Algorithm, nodes int, test func(t *testing.T, s *simulation)) {
	t.Helper()
	limit := limiter.Rule{Algorithm: a, Limit: limiter.Limit{Events: 100_000, Window: 24 * time.Hour}}
	inSimulation(t, limit, nodes+1, 1, func(t *testing.T, s *simulation) {
		s.nodes[nodes].take(0, s.rule.Capacity())
		sleep[int64](100 * ms)
		s.mu.Lock()
		s.nodes[nodes].leave()
		s.mu.Unlock()
		sleep[int64](100 * ms)
		test(t, s)
	})
}

// burst has takes of one event arrive at once, and waits until they are decided.
func (n *simNode) burst(takes int) {
	for range takes {
		n.take(0, 1)
	}
	sleep[int64](100 * ms)
}

// overAdmission returns how many events were admitted beyond those that the algorithm itself
// admits, as a fraction of the limit. All takes but the first, which uses up the limit, are of one
// event.
func (s *simulation) overAdmission(t *testing.T) float64 {
	t.Helper()
	if err := s.err(); err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	sum := s.checker.sum()
	exact := s.rule.Capacity() + sum.takes - 1 - sum.exactDenied
	return float64(sum.admitted-exact) / float64(s.rule.Limit.Events)
}
