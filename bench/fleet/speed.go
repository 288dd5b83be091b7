package main

import (
	"fmt"
	"runtime"
	"time"

	"github.com/fleetlimit/fleetlimit/bench/report"
)

// callers is the number of goroutines that make takes without a pause. It is enough to keep Redis busy
// while each of them waits for Redis.
const callers = 256

// measureHotKey prints how many requests to the store are made for takes of one key without a pause.
func measureHotKey(l *lab) error {
	nodes, warm, length := 2, 3*time.Second, 5*time.Second
	if l.short {
		warm, length = 100*time.Millisecond, 200*time.Millisecond
	}
	policies := append([]policy{strict}, leases...)
	all, err := saturated(l.cluster, policies, shape{keys: 1}, nodes, warm, length)
	if err != nil {
		return err
	}
	text := fmt.Sprintf("%d nodes, one key, takes as fast as %d processors can make them beside Redis, window of 60 s, a limit of %d;\n"+
		"measured for %s after %s.", nodes, runtime.NumCPU(), unlimited, seconds(length), seconds(warm))
	section("One hot key", text,
		"algorithm", "takes/s", "against strict", "store requests/s", "of takes", "goal", "", "not answered")
	for i, s := range all {
		goal, state := "", ""
		if !policies[i].strict {
			goal, state = "< 1 %", report.Met(s.perThousand() < 10)
		}
		report.Row(policies[i], fmt.Sprintf("%.0f", s.rate()), fmt.Sprintf("%.1f", s.rate()/all[0].rate()),
			fmt.Sprintf("%.0f", s.requestRate()), percent(s.perThousand()/1000, 4), goal, state, s.failed)
	}
	return nil
}

// measureSizes prints and draws how fast and how exactly fleets of several sizes decide.
func measureSizes(l *lab) error {
	sizes := []int{2, 5, 10, 20, 50, 100}
	warm, length, exact := 4*time.Second, 3*time.Second, 10*time.Second
	if l.short {
		sizes, warm, length, exact = []int{2, 5}, 100*time.Millisecond, 200*time.Millisecond, 500*time.Millisecond
	}
	if err := l.speedOf(sizes, warm, length); err != nil {
		return err
	}
	return l.exactnessOf(sizes, exact)
}

// speedOf prints and draws how fast fleets of several sizes decide.
func (l *lab) speedOf(sizes []int, warm, length time.Duration) error {
	// There are few keys, because a node refills the leases of each key about twice a second, at any
	// rate of decisions, and a hundred nodes share the Redis of one machine.
	const keys = 10
	text := fmt.Sprintf("All nodes share the processors of this machine with Redis. Where takes/s stay the same, a take costs a node as\n"+
		"much in a large fleet as in a small one. %d keys by Zipf(1.1), takes without a pause, windows of 60 s, limits out of reach;\n"+
		"measured for %s after %s. CPU is processor time per take. Requests are those to the store: per 1000 takes, and per second\n"+
		"and node.", keys, seconds(length), seconds(warm))
	section("How fast fleets of several sizes decide", text,
		"nodes", "takes/s", "against strict", "CPU", "per 1000", "per s, node", "strict: takes/s", "CPU", "failed")
	c := newCurves("Takes per second against nodes, on the processors of one machine", "nodes", "takes/s")
	for _, nodes := range sizes {
		all, err := saturated(l.cluster, []policy{strict, leases[0]}, shape{keys: keys, exponent: 1.1}, nodes, warm, length)
		if err != nil {
			return err
		}
		base, s := all[0], all[1]
		report.Row(nodes, fmt.Sprintf("%.0f", s.rate()), fmt.Sprintf("%.1f", s.rate()/base.rate()), s.perTake(),
			fmt.Sprintf("%.2f", s.perThousand()), fmt.Sprintf("%.1f", s.requestRate()/float64(nodes)),
			fmt.Sprintf("%.0f", base.rate()), base.perTake(), s.failed+base.failed)
		c.add("leases (token_bucket)", nodes, s.rate())
		c.add("strict", nodes, base.rate())
	}
	return c.save(l.plot, "fleet-speed.svg")
}
