package main

import (
	"fmt"
	"runtime"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// callers is how many goroutines make takes where they are made as fast as it goes: enough to keep Redis busy when each of them
// waits for it.
const callers = 256

// measureHotKey prints what takes of one key cost the store when they come as fast as it goes.
func measureHotKey(l *lab) error {
	nodes, warm, length := 2, 3*time.Second, 5*time.Second
	if l.short {
		warm, length = 100*time.Millisecond, 200*time.Millisecond
	}
	policies := []policy{
		strict, leasing(limiter.TokenBucket), leasing(limiter.SlidingWindowLog), leasing(limiter.SlidingWindow),
		leasing(limiter.FixedWindow),
	}
	var trials []*trial
	for _, p := range policies {
		trials = append(trials, &trial{policy: p, shape: shape{keys: 1}, window: time.Minute})
	}
	all, err := saturated(l.cluster, trials, nodes, callers, warm, length)
	if err != nil {
		return err
	}
	text := fmt.Sprintf("%d nodes, one key, takes as fast as %d processors make them beside Redis, window of 60 s, a limit of %d;\n"+
		"measured for %s after %s.", nodes, runtime.NumCPU(), unlimited, seconds(length), seconds(warm))
	t := newTable("One hot key", text,
		"algorithm", "takes/s", "against strict", "store requests/s", "of takes", "goal", "", "not answered")
	for i, s := range all {
		goal, state := "", ""
		if !policies[i].strict {
			goal, state = "< 1 %", met(s.perThousand() < 10)
		}
		t.row(policies[i].String(), fmt.Sprintf("%.0f", s.rate()), fmt.Sprintf("%.1f", s.rate()/all[0].rate()),
			fmt.Sprintf("%.0f", float64(s.requests)/s.elapsed.Seconds()), percent(s.perThousand()/1000, 4), goal, state, count(s.failed))
	}
	return nil
}
