package main

import (
	"fmt"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// measureLatency prints how long takes on warm keys last, beside those that the store decides in the same run.
func measureLatency(l *lab) error {
	const nodes, keys, each = 2, 100, 20.0 // takes per second of each key on each node: more than 5 while a lease lasts
	warm, length := 10*time.Second, 25*time.Second
	if l.short {
		warm, length = 300*time.Millisecond, 800*time.Millisecond
	}
	r := run{nodes: nodes, length: length, warm: warm, pace: l.pace, seed: l.seed}
	for _, p := range []policy{
		strict, leasing(limiter.TokenBucket), leasing(limiter.SlidingWindowLog), leasing(limiter.SlidingWindow),
		leasing(limiter.FixedWindow),
	} {
		t := &trial{policy: p, shape: shape{keys: keys}, rate: nodes * keys * each, window: time.Minute}
		if p.strict {
			t.rate /= 10
		}
		r.trials = append(r.trials, t)
	}
	rep, err := r.on(l.cluster)
	if err != nil {
		return err
	}
	text := fmt.Sprintf("%d nodes, %d keys with %g takes per second on each node (strict: a tenth of that), windows of 60 s,\n"+
		"limits not binding; all at the same time, measured for %s after %s.", nodes, keys, each, seconds(length-warm), seconds(warm))
	t := newTable("How long a take lasts on warm keys", text,
		"algorithm", "p50", "p99", "p99.9", "max", "p99 against strict", "goal for p99", "", "local")
	base := rep.outcomes[0]
	for _, o := range rep.outcomes {
		goal, state := "", ""
		if !o.policy.strict {
			goal, state = "< 1 ms", met(o.latency(0.99) < time.Millisecond)
		}
		t.row(o.policy.String(), milliseconds(o.latency(0.5)), milliseconds(o.latency(0.99)), milliseconds(o.latency(0.999)),
			milliseconds(o.latency(1)), fmt.Sprintf("%.4f", float64(o.latency(0.99))/float64(base.latency(0.99))), goal, state,
			percent(o.localShare(), 2))
	}
	t.noteTrouble(rep)
	return nil
}
