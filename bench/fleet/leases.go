package main

import (
	"fmt"
	"runtime"
	"time"

	"github.com/fleetlimit/fleetlimit/bench/report"
)

// add adds a trial of a policy with windows of a minute and a limit out of reach.
func (r *run) add(p policy, h shape, rate float64) {
	r.trials = append(r.trials, &trial{policy: p, shape: h, rate: rate, window: time.Minute})
}

// measureKeys prints and draws how many requests to the store a fleet makes when its takes spread over
// more keys.
func measureKeys(l *lab) error {
	counts := []int{1, 10, 100, 1000, 10_000, 100_000}
	warm, length, rate := 12*time.Second, 20*time.Second, 3000.0
	if l.short {
		counts, warm, length, rate = []int{1, 100}, 300*time.Millisecond, 600*time.Millisecond, 1000
	}
	const nodes = 2
	text := fmt.Sprintf("%d nodes, %g takes per second under each algorithm, keys by Zipf(1.1), windows of 60 s, limits out of reach;\n"+
		"measured for %s after %s. Strict makes 1000 requests per 1000 takes.", nodes, rate, seconds(length-warm), seconds(warm))
	section("Store requests against keys", text, "keys", "algorithm", "local", "store requests per 1000 takes")
	c := newCurves("Store requests against keys", "keys", "store requests per 1000 takes")
	var results []*result
	for _, keys := range counts {
		r := &run{nodes: nodes, warm: warm, length: length}
		for _, p := range []policy{leases[0], leases[1], leases[3]} {
			r.add(p, shape{keys: keys, exponent: 1.1}, rate)
		}
		res, err := r.runOn(l.cluster)
		if err != nil {
			return err
		}
		for _, o := range res.outcomes {
			report.Row(keys, o.policy, percent(o.localShare(), 1), fmt.Sprintf("%.1f", o.perThousand()))
			c.add(o.policy.String(), keys, o.perThousand())
		}
		results = append(results, res)
	}
	noteTrouble(results...)
	return c.save(l.plot, "fleet-requests.svg")
}

// perNode is the number of takes per second on each node while measureShare measures.
const perNode = 5000

// measureShare prints the share of the takes that need no request to the store.
func measureShare(l *lab) error {
	nodes, keys, warm, length := min(2*runtime.NumCPU(), 15), 10_000, 15*time.Second, 75*time.Second
	if l.short {
		nodes, warm, length = 2, 200*time.Millisecond, 500*time.Millisecond
	}
	text := fmt.Sprintf("%d nodes, as many as %d processors can carry beside Redis, each with %d takes per second; %d keys by Zipf(1.1),\n"+
		"windows of 60 s, limits out of reach; measured for %s after %s.",
		nodes, runtime.NumCPU(), perNode, keys, seconds(length-warm), seconds(warm))
	section("How many takes are decided on the node", text,
		"algorithm", "local", "goal", "", "store requests per 1000 takes", "goal", "", "p50", "p99", "max")
	var results []*result
	for _, p := range leases {
		r := &run{nodes: nodes, warm: warm, length: length}
		r.add(p, shape{keys: keys, exponent: 1.1}, float64(nodes*perNode))
		res, err := r.runOn(l.cluster)
		if err != nil {
			return err
		}
		o := res.outcomes[0]
		report.Row(p, percent(o.localShare(), 1), ">= 93 %", report.Met(o.localShare() >= 0.93),
			fmt.Sprintf("%.0f", o.perThousand()), "<= 130", report.Met(o.perThousand() <= 130), o.took(0.5), o.took(0.99), o.took(1))
		results = append(results, res)
	}
	noteTrouble(results...)
	return nil
}

// measureLatency prints the duration of takes on warm keys, beside that of strict takes in the same
// run.
func measureLatency(l *lab) error {
	const nodes, keys, each = 2, 100, 20.0 // takes per second of each key on each node; more than 5 per lease
	warm, length := 10*time.Second, 25*time.Second
	if l.short {
		warm, length = 300*time.Millisecond, 800*time.Millisecond
	}
	r := &run{nodes: nodes, warm: warm, length: length}
	r.add(strict, shape{keys: keys}, nodes*keys*each/10)
	for _, p := range leases {
		r.add(p, shape{keys: keys}, nodes*keys*each)
	}
	res, err := r.runOn(l.cluster)
	if err != nil {
		return err
	}
	text := fmt.Sprintf("%d nodes, %d keys with %g takes per second on each node (strict: a tenth of that), windows of 60 s,\n"+
		"limits out of reach; all at the same time, measured for %s after %s.\n"+
		"Ratio (to strict) and goal are those of p99.", nodes, keys, each, seconds(length-warm), seconds(warm))
	section("How long a take lasts on warm keys", text,
		"algorithm", "p50", "p99", "p99.9", "max", "ratio", "goal", "", "local")
	base := res.outcomes[0].latency(0.99)
	for _, o := range res.outcomes {
		goal, state := "", ""
		if !o.policy.strict {
			goal, state = "< 1 ms", report.Met(o.latency(0.99) < time.Millisecond)
		}
		report.Row(o.policy, o.took(0.5), o.took(0.99), o.took(0.999), o.took(1),
			fmt.Sprintf("%.4f", float64(o.latency(0.99))/float64(base)), goal, state, percent(o.localShare(), 2))
	}
	noteTrouble(res)
	return nil
}
