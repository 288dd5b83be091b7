//go:build linux

package main

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fleetlimit/fleetlimit/bench/report"
	"github.com/fleetlimit/fleetlimit/limiter"
)

// admissions are how many requests are admitted in each of two windows.
type admissions [2]atomic.Int64

// printShareHead prints the head of the table of measureShare, and returns its chart.
func printShareHead(window time.Duration) *curves {
	text := fmt.Sprintf("All primaries are killed. Then, for two windows of %s, each fleet gets requests of one new key: 1.2 times the limit per\n"+
		"node and window, and at least 6 times the limit. Even: at any node; skewed: half of the time, all at one node. The\n"+
		"limit is %d per window; figures are multiples of it. Exact is what one gateway admits by the algorithm of the limit.\n"+
		"The goal is twice that in each window.", seconds(window), shareLimit)
	section("What a fleet admits in an outage", text,
		"nodes", "load", "product", "requests", "first window", "exact", "second window", "exact", "goal", "")
	return newCurves("Admitted in the second window of an outage, even load", "nodes", "times the limit")
}

// measureShare prints what fleets admit in an outage.
func (l *lab) measureShare(all []*gateways, window time.Duration, c *curves) error {
	if err := l.strike(killed); err != nil {
		return err
	}
	size := len(all[0].nodes)
	rate := max(6, 1.2*float64(size)) * shareLimit / window.Seconds()
	for i, h := range []shape{{name: "even", keys: 1}, {name: "skewed", keys: 1, moves: 0.27 * window.Seconds()}} {
		arrivals := (&trial{shape: h, rate: rate}).arrivals(i, size, 2*window)
		admitted := make(map[share]*admissions)
		var driving sync.WaitGroup
		for _, g := range all {
			for _, s := range g.shares {
				admitted[s] = new(admissions)
				driving.Go(func() { g.drive(s, fmt.Sprint(h.name, size), arrivals, window, admitted[s]) })
			}
		}
		driving.Wait()
		for _, g := range all {
			for _, s := range g.shares {
				exact, err := exactly(s.kind, arrivals, window)
				if err != nil {
					return err
				}
				met := true
				cells := []any{size, h.name, s.name, len(arrivals)}
				for w := range exact {
					n, e := admitted[s][w].Load(), exact[w].Load()
					met = met && float64(n) <= 2*1.01*float64(e) // the instants of decisions are not known better
					cells = append(cells, limits(n), limits(e))
				}
				report.Row(append(cells, "<= 2 x exact", report.Met(met))...)
				if i == 0 {
					c.add(s.name, size, float64(admitted[s][1].Load())/shareLimit)
				}
			}
		}
	}
	return l.heal()
}

func limits(admitted int64) string { return fmt.Sprintf("%.2f", float64(admitted)/shareLimit) }

// drive makes requests when they are due, and counts those that are admitted.
func (g *gateways) drive(s share, key string, arrivals []arrival, window time.Duration, admitted *admissions) {
	var requests sync.WaitGroup
	start := time.Now()
	for _, a := range arrivals {
		time.Sleep(time.Until(start.Add(a.due)))
		requests.Go(func() {
			status, _, err := get(g.nodes[a.node], s.path, key)
			if w := int(time.Since(start) / window); err == nil && status == 200 && w < len(admitted) {
				admitted[w].Add(1)
			}
		})
	}
	requests.Wait()
}

// exactly returns what one gateway admits of the arrivals.
func exactly(kind limiter.Kind, arrivals []arrival, window time.Duration) (*admissions, error) {
	rule, err := policy{kind: kind}.rule(1, limiter.Limit{Events: shareLimit, Window: window})
	if err != nil {
		return nil, err
	}
	admitted, count, start := new(admissions), limiter.NewCount(rule.Algorithm), limiter.At(time.Now())
	for _, a := range arrivals {
		if count.Take(rule, start+limiter.Instant(a.due.Microseconds()), 1).OK {
			admitted[a.due/window].Add(1)
		}
	}
	return admitted, nil
}
