package main

import (
	"fmt"
	"time"

	"github.com/fleetlimit/fleetlimit/docs/plot/canvas"
	"github.com/fleetlimit/fleetlimit/limiter"
)

// measureSizes prints, and draws, what a fleet does as it grows: how fast it decides, and how exact.
func measureSizes(l *lab) error {
	sizes := []int{2, 5, 10, 20, 50, 100}
	warm, length, exact := 4*time.Second, 3*time.Second, 10*time.Second
	if l.short {
		sizes, warm, length, exact = []int{2, 5}, 100*time.Millisecond, 200*time.Millisecond, 500*time.Millisecond
	}
	speed, err := l.speedOf(sizes, warm, length)
	if err != nil {
		return err
	}
	over, err := l.exactnessOf(sizes, exact)
	if err != nil || l.plot == "" {
		return err
	}
	if err := speed.save(l.plot, "fleet-speed.svg"); err != nil {
		return err
	}
	return over.save(l.plot, "fleet-over-admission.svg")
}

// speedOf prints how fast fleets of several sizes decide.
func (l *lab) speedOf(sizes []int, warm, length time.Duration) (*chart, error) {
	// Few keys: a node renews the leases of each about twice a second, whatever it decides meanwhile, and a hundred nodes share one
	// machine's Redis.
	const keys = 10
	text := fmt.Sprintf("All nodes share the processors of this machine, with Redis: where takes/s stay the same, a take costs a node as\n"+
		"much in a large fleet as in a small one. %d keys by Zipf(1.1), takes as fast as it goes, windows of 60 s, limits not binding;\n"+
		"measured for %s after %s.", keys, seconds(length), seconds(warm))
	t := newTable("How fast fleets of several sizes decide", text,
		"nodes", "takes/s", "against strict", "processor time per take", "store requests per 1000 takes", "store requests/s and node",
		"strict: takes/s", "strict: processor time per take", "not answered")
	c := &chart{title: "Takes per second against nodes, on the processors of one machine", x: "nodes", y: "takes/s",
		series: []series{{name: "leases (token_bucket, 1 %)", colour: canvas.Blue}, {name: "strict", colour: canvas.Ink}}}
	for _, nodes := range sizes {
		var trials []*trial
		for _, p := range []policy{strict, leasing(limiter.TokenBucket)} {
			trials = append(trials, &trial{policy: p, shape: shape{keys: keys, exponent: 1.1}, window: time.Minute})
		}
		all, err := saturated(l.cluster, trials, nodes, callers, warm, length)
		if err != nil {
			return nil, err
		}
		base, s := all[0], all[1]
		t.row(count(nodes), fmt.Sprintf("%.0f", s.rate()), fmt.Sprintf("%.1f", s.rate()/base.rate()), s.perTake().String(),
			fmt.Sprintf("%.2f", s.perThousand()), fmt.Sprintf("%.1f", float64(s.requests)/s.elapsed.Seconds()/float64(nodes)),
			fmt.Sprintf("%.0f", base.rate()), base.perTake().String(), count(s.failed+base.failed))
		c.series[0].add(nodes, s.rate())
		c.series[1].add(nodes, base.rate())
	}
	return c, nil
}

// exactnessOf prints how exact fleets of several sizes decide above the limit.
func (l *lab) exactnessOf(sizes []int, length time.Duration) (*chart, error) {
	policies := []policy{
		{overshoot: 0.05}, {overshoot: 0.01}, leasing(limiter.SlidingWindowLog), leasing(limiter.SlidingWindow),
		leasing(limiter.FixedWindow), strict,
	}
	colours := []string{canvas.Red, canvas.Orange, canvas.Green, canvas.Purple, canvas.Blue, canvas.Ink}
	text := fmt.Sprintf("Uniform over all nodes, 150 %% of the limit, %s of a window of 60 s.", seconds(length))
	t := newTable("How exact fleets of several sizes decide", text,
		"nodes", "algorithm", "takes", "admitted", "exact", "over-admission", "bound", "", "false rejections",
		"store requests per 1000 takes")
	c := &chart{title: "Over-admission against nodes, at 150 % of the limit", x: "nodes", y: "% of what the exact algorithm admits"}
	for i, p := range policies {
		c.series = append(c.series, series{name: p.String(), colour: colours[i]})
	}
	var reports []*report
	for _, nodes := range sizes {
		r := run{nodes: nodes, length: length, pace: l.pace, seed: l.seed}
		for _, p := range policies {
			r.trials = append(r.trials, &trial{policy: p, shape: shapes[0], rate: 500, window: time.Minute, load: 1.5})
		}
		rep, err := r.on(l.cluster)
		if err != nil {
			return nil, err
		}
		for i, o := range rep.outcomes {
			t.row(count(nodes), o.policy.String(), count(o.takes), count(o.admitted), count(o.exact), percent(o.overAdmission(), 3),
				percent(o.policy.bound(), 0), met(o.overAdmission() <= o.policy.bound()), percent(o.falseRejections(), 3),
				fmt.Sprintf("%.0f", o.perThousand()))
			c.series[i].add(nodes, 100*o.overAdmission())
		}
		reports = append(reports, rep)
	}
	t.noteTrouble(reports...)
	return c, nil
}
