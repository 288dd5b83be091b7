package limiter

import (
	"testing"
	"time"
)

// TestRollingDeployment restarts the nodes of a fleet one after the other, and has a burst of takes of an exhausted key arrive at each
// when all others count it: its credit of before the restart is not given again.
func TestRollingDeployment(t *testing.T) {
	const nodes, burst = 10, 60
	for _, a := range every {
		for _, rounds := range []int{3, 30} {
			w := newExhausted(a.Algorithm, nodes)
			w.burst(burst)
			for range rounds {
				for i := range w.nodes {
					w.nodes[i].restart()
					w.run(w.now + 2*heartbeat)
					w.nodes[i].burst(burst)
				}
			}
			t.Logf("%s: over-admission in %d rounds = %.2f %%", a.name, rounds, 100*w.overAdmission(t))
			if got := w.overAdmission(t); got > 0.01 {
				t.Errorf("%s: over-admission in %d rounds = %.4f of the limit, want at most 0.01", a.name, rounds, got)
			}
		}
	}
}

// TestNodesLeave has the nodes of a fleet leave one after the other, each right after a burst of takes of an exhausted key: their
// parts of the credit do not become larger with each that has left.
func TestNodesLeave(t *testing.T) {
	const nodes, burst = 20, 1000
	for _, a := range every {
		w := newExhausted(a.Algorithm, nodes)
		for len(w.nodes) > 1 {
			w.nodes[0].burst(burst)
			w.nodes[0].leave()
		}
		w.nodes[0].burst(burst)
		if got := w.overAdmission(t); got > 0.01 || got == 0 {
			t.Errorf("%s: over-admission = %.4f of the limit, want more than 0, as there is credit, and at most 0.01", a.name, got)
		}
	}
}

// newExhausted returns a fleet that has run for long, under a limit of 100,000 a day that is used up.
func newExhausted(a Algorithm, nodes int) *world {
	w := newTune(Rule{
		Algorithm: a, Limit: Limit{Events: 100_000, Window: 24 * time.Hour}, MaxOvershoot: 0.01,
	}, nodes+1, 1)
	w.nodes[nodes].take(0, w.rule.capacity)
	w.run(w.now + sec)
	w.nodes[nodes].leave()
	w.run(w.now + sec)
	return w
}

// burst has so many takes arrive at each node, and lets it become quiet.
func (w *world) burst(takes int) {
	for _, m := range w.nodes {
		m.burst(takes)
	}
}

func (m *member) burst(takes int) {
	for range takes {
		m.take(0, 1)
	}
	m.run(m.now + sec)
}

// overAdmission returns how many events were admitted beyond those that the algorithm itself admits, as a fraction of the limit. All
// takes but the first, which uses up the limit, are of one event.
func (w *world) overAdmission(t *testing.T) float64 {
	t.Helper()
	if w.audit.err != nil {
		t.Fatal(w.audit.err)
	}
	s := w.audit.sum()
	exact := w.rule.capacity + s.takes - 1 - s.exactRefused
	return float64(s.admitted+s.credited-exact) / float64(w.rule.Limit.Events)
}
