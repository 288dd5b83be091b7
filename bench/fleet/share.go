package main

import (
	"fmt"
	"runtime"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// perNode is how many takes per second a node has where the local share is measured.
const perNode = 5000

// measureShare prints which part of the takes is decided without the store, when limits are not binding.
func measureShare(l *lab) error {
	nodes, keys, warm, length := 2*runtime.NumCPU(), 10_000, 15*time.Second, 25*time.Second
	if l.short {
		nodes, warm, length = 2, 200*time.Millisecond, 500*time.Millisecond
	}
	nodes = min(nodes, 15)
	text := fmt.Sprintf("%d nodes, as many as %d processors carry beside Redis, each with %d takes per second; %d keys by Zipf(1.1),\n"+
		"windows of 60 s, limits not binding; measured for %s after %s.",
		nodes, runtime.NumCPU(), perNode, keys, seconds(length-warm), seconds(warm))
	t := newTable("How many takes are decided on the node", text,
		"algorithm", "local", "goal", "", "store requests per 1000 takes", "p50", "p99", "max")
	var reports []*report
	for _, v := range []struct {
		policy policy
		goal   float64
	}{
		{policy{overshoot: 0.05}, 0.85},
		{policy{overshoot: 0.01}, 0.75},
		{leasing(limiter.SlidingWindowLog), 0.85},
		{leasing(limiter.SlidingWindow), 0.85},
		{leasing(limiter.FixedWindow), 0.85},
	} {
		r := run{
			trials: []*trial{{policy: v.policy, shape: shape{keys: keys, exponent: 1.1}, rate: float64(nodes * perNode), window: time.Minute}},
			nodes:  nodes, length: length, warm: warm, pace: l.pace, seed: l.seed,
		}
		rep, err := r.on(l.cluster)
		if err != nil {
			return err
		}
		o := rep.outcomes[0]
		t.row(v.policy.String(), percent(o.localShare(), 1), ">= "+percent(v.goal, 0), met(o.localShare() >= v.goal),
			fmt.Sprintf("%.0f", o.perThousand()), milliseconds(o.latency(0.5)), milliseconds(o.latency(0.99)), milliseconds(o.latency(1)))
		reports = append(reports, rep)
	}
	t.noteTrouble(reports...)
	return nil
}
