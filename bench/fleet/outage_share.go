//go:build linux

package main

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fleetlimit/fleetlimit/bench/report"
)

// A tally counts the answered and the admitted requests in each of two windows.
type tally [2]struct{ answered, admitted atomic.Int64 }

// limits returns the number of requests admitted in a window, as a multiple of the limit.
func (t *tally) limits(window int) float64 { return float64(t[window].admitted.Load()) / shareLimit }

// cell formats the counts of a window for the table.
func (t *tally) cell(window int) string {
	return fmt.Sprintf("%.2f of %.1f", t.limits(window), float64(t[window].answered.Load())/shareLimit)
}

// printShareHead prints the head of the table of measureShare. It returns the chart for measureShare.
func printShareHead(window time.Duration) *curves {
	text := fmt.Sprintf("All primaries are killed. Then, for two windows of %s, each fleet gets requests of one new key: 1.2 times the limit per\n"+
		"node and window, and at least 6 times the limit. Even: at any node; skewed: half of the time, all at one node. The\n"+
		"limit is %d per window. Figures are multiples of it: admitted requests, of those that were answered in the window.", seconds(window), shareLimit)
	section("What a fleet admits in an outage", text, "nodes", "load", "product", "first window", "second window", "goal", "")
	return newCurves("Admitted in the first window of an outage, even load", "nodes", "times the limit")
}

// measureShare prints what each fleet admits in an outage.
func (l *lab) measureShare(all []*gateways, window time.Duration, c *curves) error {
	if err := l.strike(killed); err != nil {
		return err
	}
	size := len(all[0].nodes)
	rate := max(6, 1.2*float64(size)) * shareLimit / window.Seconds()
	for i, h := range []shape{{name: "even", keys: 1}, {name: "skewed", keys: 1, moves: 0.27 * window.Seconds()}} {
		arrivals := (&trial{shape: h, rate: rate}).arrivals(i, size, 2*window)
		tallies := make(map[share]*tally)
		var driving sync.WaitGroup
		for _, g := range all {
			for _, s := range g.shares {
				t := new(tally)
				tallies[s] = t
				driving.Go(func() { g.drive(s, fmt.Sprint(h.name, size), arrivals, window, t) })
			}
		}
		driving.Wait()
		for _, g := range all {
			for _, s := range g.shares {
				t := tallies[s]
				report.Row(size, h.name, s.name, t.cell(0), t.cell(1), "<= 2", report.Met(max(t.limits(0), t.limits(1)) <= 2))
				if i == 0 {
					c.add(s.name, size, t.limits(0))
				}
			}
		}
	}
	return nil
}

// drive makes the requests when they are due, and counts the answers in t.
func (g *gateways) drive(s share, key string, arrivals []arrival, window time.Duration, t *tally) {
	var requests sync.WaitGroup
	start := time.Now()
	for _, a := range arrivals {
		time.Sleep(time.Until(start.Add(a.due)))
		requests.Go(func() {
			status, _, err := get(g.nodes[a.node], s.path, key)
			w := int(time.Since(start) / window)
			if err != nil || w >= len(t) {
				return
			}
			if t[w].answered.Add(1); status == 200 {
				t[w].admitted.Add(1)
			}
		})
	}
	requests.Wait()
}
