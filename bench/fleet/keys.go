package main

import (
	"fmt"
	"time"

	"github.com/fleetlimit/fleetlimit/docs/plot/canvas"
	"github.com/fleetlimit/fleetlimit/limiter"
)

// measureKeys prints, and draws, how many requests to the store a fleet makes as its takes are spread over more keys.
func measureKeys(l *lab) error {
	counts := []int{1, 10, 100, 1000, 10_000, 100_000}
	warm, length, rate := 12*time.Second, 20*time.Second, 3000.0
	if l.short {
		counts, warm, length, rate = []int{1, 100}, 300*time.Millisecond, 600*time.Millisecond, 1000
	}
	policies := []policy{{overshoot: 0.05}, {overshoot: 0.01}, leasing(limiter.SlidingWindowLog), leasing(limiter.FixedWindow)}
	colours := []string{canvas.Red, canvas.Orange, canvas.Green, canvas.Blue}
	const nodes = 2
	text := fmt.Sprintf("%d nodes, %g takes per second under each algorithm, keys by Zipf(1.1), windows of 60 s, limits not binding;\n"+
		"measured for %s after %s. Strict makes 1000 requests per 1000 takes.", nodes, rate, seconds(length-warm), seconds(warm))
	t := newTable("Store requests against keys", text,
		"keys", "algorithm", "local", "store requests per 1000 takes")
	c := &chart{title: "Store requests against keys", x: "keys", y: "store requests per 1000 takes"}
	for i, p := range policies {
		c.series = append(c.series, series{name: p.String(), colour: colours[i]})
	}
	var reports []*report
	for _, keys := range counts {
		r := run{nodes: nodes, length: length, warm: warm, pace: l.pace, seed: l.seed}
		for _, p := range policies {
			r.trials = append(r.trials, &trial{policy: p, shape: shape{keys: keys, exponent: 1.1}, rate: rate, window: time.Minute})
		}
		rep, err := r.on(l.cluster)
		if err != nil {
			return err
		}
		for i, o := range rep.outcomes {
			t.row(count(keys), o.policy.String(), percent(o.localShare(), 1), fmt.Sprintf("%.1f", o.perThousand()))
			c.series[i].add(keys, o.perThousand())
		}
		reports = append(reports, rep)
	}
	t.noteTrouble(reports...)
	if l.plot == "" {
		return nil
	}
	return c.save(l.plot, "fleet-requests.svg")
}
