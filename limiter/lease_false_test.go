//go:build !race

package limiter

import (
	"fmt"
	"testing"
	"time"
)

// flows are those that TestTuneFalseRejections has. The period of the bursts is no divisor of the windows, so that they meet all
// parts of them.
var flows = []flow{{name: "evenly"}, {name: "pinned", pinned: true}, {name: "bursts", period: 0.7 * sec}}

// A flow is how takes are spread over nodes and time.
type flow struct {
	name   string
	pinned bool  // all takes come to one node; else each comes to any
	period int64 // in µs; the takes come in the first tenth of each; 0: at any time
}

// TestTuneFalseRejections measures how many takes are denied beyond those that the algorithm itself denies on the same arrivals, at
// 90 % of the limit. A limit of 44 a second is that of bench/fleet, and one at which chance alone exceeds it often.
func TestTuneFalseRejections(t *testing.T) {
	fleets, takes := []int{15}, int64(20_000)
	limits := []Limit{{Events: 44, Window: time.Second}, {Events: 1000, Window: time.Second}, {Events: 1000, Window: time.Minute}}
	if *tuneAll {
		fleets, takes = []int{2, 5, 15}, 60_000
		for _, events := range []int64{100, 300, 10_000} {
			limits = append(limits, Limit{Events: events, Window: time.Second})
		}
		for _, events := range []int64{44, 10_000} {
			limits = append(limits, Limit{Events: events, Window: time.Minute})
		}
	}
	for _, test := range []struct {
		name string
		Algorithm
		overshoot float64
	}{
		{"bucket, 1 %", bucket, 0.01},
		{"bucket, 5 %", bucket, 0.05},
		{"log", slidingWindowLog, 0},
		{"sliding", sliding(1), 0},
		{"sliding-5", sliding(5), 0},
		{"sliding-60", sliding(60), 0},
		{"fixed", fixed, 0},
	} {
		for _, limit := range limits {
			for _, f := range flows {
				for _, nodes := range fleets {
					t.Run(fmt.Sprintf("%s/%d in %v/%s/%d nodes", test.name, limit.Events, limit.Window, f.name, nodes), func(t *testing.T) {
						w := newTune(Rule{Algorithm: test.Algorithm, Limit: limit, MaxOvershoot: test.overshoot}, nodes, 1)
						w.testFalseRejections(t, f, takes)
					})
				}
			}
		}
	}
}

// testFalseRejections has so many takes arrive at 90 % of the limit.
func (w *world) testFalseRejections(t *testing.T, f flow, takes int64) {
	s := w.flood(f, takes, 0.9)
	if w.audit.err != nil {
		t.Fatal(w.audit.err)
	}
	share := float64(s.refused+s.abandoned-s.exactRefused) / float64(s.takes)
	t.Logf("%.3f %% denied that the algorithm admits, and %.3f %% with it; local %.0f %%",
		100*share, 100*float64(s.exactRefused)/float64(s.takes), 100*float64(s.local)/float64(s.takes))
	most := 0.001
	if f.period > 0 && w.rule.Limit.Events > 100 { // the algorithm itself denies a sixth, and large leases are out then
		most = 0.003
	}
	if share >= most {
		t.Errorf("falsely denied = %.4f of all takes, want less than %v", share, most)
	}
}

// flood has so many takes arrive at random, at so many times the limit, and returns what happened. It ends early when the audit finds
// something wrong.
func (w *world) flood(f flow, takes int64, load float64) keyAudit {
	gap, busy := float64(w.rule.window)/(load*float64(w.rule.Limit.Events)), 0.0
	var arrive func()
	arrive = func() {
		node := 0
		if !f.pinned {
			node = w.IntN(len(w.nodes))
		}
		w.nodes[node].take(0, 1)
		if takes--; takes > 0 {
			busy += w.ExpFloat64() * gap
			w.after(int64(begins)+f.at(int64(busy))-int64(w.now), arrive)
		}
	}
	arrive()
	for w.events.Len() > 0 && w.audit.err == nil {
		w.run(w.events.heap[0].at + 1)
	}
	return w.audit.sum()
}

// at returns when a take comes that would come at us if there were no bursts. Both are in µs since the beginning.
func (f flow) at(us int64) int64 {
	if f.period == 0 {
		return us
	}
	us, on := us/10, f.period/10
	return us/on*f.period + us%on
}
