//go:build linux

package main

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fleetlimit/fleetlimit/bench/report"
)

// admissions are how many requests are admitted in each of two windows.
type admissions [2]atomic.Int64

// limits returns the admissions of a window as a multiple of the limit.
func (a *admissions) limits(window int) float64 { return float64(a[window].Load()) / shareLimit }

// printShareHead prints the head of the table of measureShare, and returns its chart.
func printShareHead(window time.Duration) *curves {
	text := fmt.Sprintf("All primaries are killed. Then, for two windows of %s, each fleet gets requests of one new key: 1.2 times the limit per\n"+
		"node and window, and at least 6 times the limit. Even: at any node; skewed: half of the time, all at one node. The\n"+
		"limit is %d per window; figures are multiples of it.", seconds(window), shareLimit)
	section("What a fleet admits in an outage", text, "nodes", "load", "product", "requests", "first window", "second window", "goal", "")
	return newCurves("Admitted in the first window of an outage, even load", "nodes", "times the limit")
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
				count := new(admissions)
				admitted[s] = count
				driving.Go(func() { g.drive(s, fmt.Sprint(h.name, size), arrivals, window, count) })
			}
		}
		driving.Wait()
		for _, g := range all {
			for _, s := range g.shares {
				first, second := admitted[s].limits(0), admitted[s].limits(1)
				report.Row(size, h.name, s.name, len(arrivals), fmt.Sprintf("%.2f", first), fmt.Sprintf("%.2f", second),
					"<= 2", report.Met(max(first, second) <= 2))
				if i == 0 {
					c.add(s.name, size, first)
				}
			}
		}
	}
	return nil
}

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
