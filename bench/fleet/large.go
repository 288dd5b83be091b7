package main

import (
	"fmt"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// largeSizes are the sizes of large fleets.
var largeSizes = []int{100, 200}

// larges returns the rows of a large fleet that the options select. The goals of a fleet of 200
// nodes are those of its token bucket with 1000 events.
func (o *options) larges(nodes int) []typical {
	bucket := leasing(limiter.TokenBucket)
	rows := []typical{
		{policy: bucket, events: 1000, requests: 170, waiting: 0.05},
		{policy: bucket, events: 1000, requests: 200, waiting: 0.05, spread: 1},
		{policy: bucket, events: 1000, requests: 160, waiting: 0.01, load: 0.95},
		{policy: bucket, events: 1000, requests: 950, waiting: 0.80, load: 1.2},
		{policy: bucket, events: 100, requests: 1050},
		{policy: bucket, events: 10_000, requests: 50, waiting: 0.01},
	}
	for _, kind := range []limiter.Kind{limiter.FixedWindow, limiter.SlidingWindow, limiter.SlidingWindowLog} {
		rows = append(rows, typical{policy: leasing(kind), events: 1000, requests: 1050})
	}
	for i := range rows {
		rows[i].window, rows[i].nodes = time.Minute, nodes
		if nodes > largeSizes[0] {
			rows[i].requests = max(rows[i].requests, 400)
		}
		if nodes > largeSizes[0] && rows[i].waiting > 0 {
			rows[i].waiting = max(rows[i].waiting, 0.1)
		}
	}
	return o.selected(rows)
}

// measureLarge prints how often large fleets need the store.
func measureLarge(l *lab) error {
	sizes, length := largeSizes, l.lengthFor(time.Minute)
	if l.short {
		sizes = []int{20}
	}
	text := fmt.Sprintf("%d keys, spread over all nodes evenly or, if uneven, by Zipf(1). Measured for %s after %[2]s.\n"+
		"Waiting takes need a reply of Redis. False rejections are takes that the fleet rejects and the exact algorithm admits.",
		typicalKeys, seconds(length))
	section("Large fleets", text, "nodes", "algorithm", "limit", "load", "takes", "script calls per 1000 takes", "goal", "",
		"waiting takes", "goal", "", "false rejections")
	for _, nodes := range sizes {
		rows := l.larges(nodes)
		if len(rows) == 0 {
			continue
		}
		results, err := together(l.cluster, typicalRuns(rows, length, length))
		if err != nil {
			return err
		}
		for i, o := range results[0].outcomes {
			y := &rows[i]
			load := percent(y.part(), 0)
			if y.spread > 0 {
				load += " uneven"
			}
			y.print(o, y.nodes, y.policy, y.limit(), load)
		}
		noteTrouble(results...)
	}
	return nil
}
