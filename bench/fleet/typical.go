package main

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/fleetlimit/fleetlimit/bench/report"
	"github.com/fleetlimit/fleetlimit/limiter"
)

const (
	typicalKeys = 20
	typicalLoad = 0.5 // as a fraction of what the limit allows each key
)

// A typical is an ordinary limit on a fleet, with the goals for it.
type typical struct {
	policy policy
	events int64
	window time.Duration
	nodes  int

	requests float64 // goal: the highest number of requests to the store per 1000 takes
	waiting  float64 // goal: the highest fraction of takes that wait for the store; 0 if there is no goal

	load   float64 // as a fraction of what the limit allows each key; 0 means typicalLoad
	spread float64 // see shape
}

// typicals returns the rows that the options select, by the size of the fleet.
func (o *options) typicals() []typical {
	bucket := leasing(limiter.TokenBucket)
	all := []typical{
		{policy: bucket, events: 100, window: time.Minute, nodes: 1, requests: 200, waiting: 0.10},
		{policy: bucket, events: 100, window: time.Minute, nodes: 4, requests: 500, waiting: 0.30},
		{policy: bucket, events: 1000, window: time.Minute, nodes: 4, requests: 100, waiting: 0.04},
		{policy: bucket, events: 10_000, window: time.Minute, nodes: 4, requests: 30, waiting: 0.02},
		{policy: bucket, events: 100, window: time.Second, nodes: 4, requests: 250, waiting: 0.04},
	}
	for _, kind := range []limiter.Kind{limiter.FixedWindow, limiter.SlidingWindow, limiter.SlidingWindowLog} {
		all = append(all,
			typical{policy: leasing(kind), events: 1000, window: time.Minute, nodes: 4, requests: 150},
			typical{policy: leasing(kind), events: 100, window: time.Second, nodes: 4, requests: 300})
	}
	return o.selected(all)
}

// selected returns the rows with the algorithms and windows of the options.
func (o *options) selected(rows []typical) []typical {
	return slices.DeleteFunc(rows, func(y typical) bool {
		return !slices.Contains(o.policies, y.policy) || !slices.Contains(o.windows, y.window)
	})
}

// limit formats the limit as in a Caddyfile.
func (y *typical) limit() string {
	unit := map[time.Duration]string{time.Second: "s", time.Minute: "m"}[y.window]
	return fmt.Sprintf("%d/1%s", y.events, unit)
}

// part returns the takes as a fraction of what the limit allows.
func (y *typical) part() float64 { return cmp.Or(y.load, typicalLoad) }

// trial returns the trial with the takes of y.
func (y *typical) trial() *trial {
	return &trial{
		policy: y.policy, shape: shape{keys: typicalKeys, spread: y.spread}, window: y.window, limit: y.events,
		rate: typicalKeys * y.part() * float64(y.events) / y.window.Seconds(),
	}
}

// typicalRuns returns one run for each size of a fleet. The trials are in the order of the rows.
func typicalRuns(rows []typical, warm, length time.Duration) (runs []*run) {
	for i := range rows {
		if i == 0 || rows[i].nodes != rows[i-1].nodes {
			runs = append(runs, &run{nodes: rows[i].nodes, warm: warm, length: warm + length})
		}
		r := runs[len(runs)-1]
		r.trials = append(r.trials, rows[i].trial())
	}
	return runs
}

// measureTypical prints how often ordinary limits need the store, and how often a fleet rejects
// takes that the exact algorithm admits.
func measureTypical(l *lab) error {
	rows := l.typicals()
	if len(rows) == 0 {
		return nil
	}
	length := l.lengthFor(time.Minute)
	warm := (length / 3).Round(time.Millisecond)
	results, err := together(l.cluster, typicalRuns(rows, warm, length))
	if err != nil {
		return err
	}
	text := fmt.Sprintf("%d keys at %s of their limit, spread over all nodes. All limits at the same time, measured for %s after %s.\n"+
		"Waiting takes need a reply of Redis. False rejections are takes that the fleet rejects and the exact algorithm admits.",
		typicalKeys, percent(typicalLoad, 0), seconds(length), seconds(warm))
	section("Ordinary limits", text, "algorithm", "limit", "nodes", "takes", "script calls per 1000 takes", "goal", "",
		"waiting takes", "goal", "", "false rejections")
	var outcomes []*outcome
	for _, res := range results {
		outcomes = append(outcomes, res.outcomes...)
	}
	for i, o := range outcomes {
		rows[i].print(o, rows[i].policy, rows[i].limit(), rows[i].nodes)
	}
	noteTrouble(results...)
	return nil
}

// print prints the row for y: the first cells, and the outcome o beside the goals.
func (y *typical) print(o *outcome, first ...any) {
	goal, state, waiting := "", "", o.waiting()
	if y.waiting > 0 {
		goal, state = "<= "+percent(y.waiting, 0), report.Met(waiting <= y.waiting)
	}
	report.Row(append(first, o.takes, fmt.Sprintf("%.0f", o.perThousand()), fmt.Sprintf("<= %.0f", y.requests),
		report.Met(o.perThousand() <= y.requests), percent(waiting, 1), goal, state, o.short)...)
}
