package main

import (
	"fmt"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// A trial is takes of some keys under one rule.
type trial struct {
	policy policy
	shape  shape
	rate   float64 // takes per second, of all keys and nodes
	window time.Duration

	// load is how many events the takes of the busiest key ask for, as a fraction of those that the limit allows it within the
	// run. 0: the limit is so high that it plays no part.
	load float64

	rule *limiter.Rule // made when the run begins
	keys [][]byte
}

// unlimited is a limit that no trial comes near, in events per window.
const unlimited = 100_000_000

// events returns the limit for a run of this length.
//
// Within the run, a window algorithm allows the limit in each window, and in at least one. A bucket allows its burst and what
// refills: for a run as long as the window, twice the limit.
func (t *trial) events(length time.Duration) int64 {
	if t.load == 0 {
		return unlimited
	}
	asked := t.rate * length.Seconds() * newZipf(t.shape.exponent, t.shape.keys).first()
	windows := float64(length) / float64(t.window)
	if t.policy.kind == limiter.TokenBucket {
		windows++
	}
	return max(1, int64(asked/t.load/max(1, windows)+0.5))
}

// prepare makes the rule and the keys of the trial with this number, for a run of this length. window is what t.window is in it: see
// windowAt.
func (t *trial) prepare(number int, window, length time.Duration) (err error) {
	t.rule, err = t.policy.rule(ruleOf(number), limiter.Limit{Events: t.events(length), Window: window})
	t.keys = make([][]byte, t.shape.keys)
	for k := range t.keys {
		t.keys[k] = fmt.Appendf(nil, "sk_%d_%08d", number, k)
	}
	return err
}

// ruleOf returns the ID of the rule of the trial with this number.
func ruleOf(number int) uint32 { return uint32(number) + 1 }
