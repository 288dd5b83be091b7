//go:build linux

package main

import (
	"fmt"
	"time"

	"github.com/fleetlimit/fleetlimit/bench/load"
	"github.com/fleetlimit/fleetlimit/bench/report"
)

const (
	connections = 32     // keep-alive connections to each gateway
	hotKeys     = 100    // number of keys that the connections use
	pace        = 1000.0 // requests per second while the p99 is measured
)

// A phase is a part of the time around an outage.
type phase int

const (
	before phase = iota
	during
	after
	phases
)

// A contender is a gateway under load.
type contender struct {
	*gateways
	load.Target

	rates, cpu, p99 [phases]report.Series // requests per second, and µs and ms per request; by phase and round
}

func (k *contender) String() string { return k.name }

// measureOutageSpeed prints how fast gateways are before, during and after outages of all primaries.
func (l *lab) measureOutageSpeed(all []*gateways) error {
	outages, rounds, round := 3, 6, 250*time.Millisecond
	if l.short {
		outages, rounds, round = 1, 1, 50*time.Millisecond
	}
	text := fmt.Sprintf("One gateway of each product, %d connections, %d keys, limits out of reach. All primaries are killed or stopped, %d times\n"+
		"each. The gateways take turns in %d rounds of %v before, during and after. Requests per second and processor time\n"+
		"per request are those without a pause; p99 is that at %g requests per second. Ratio and difference are those of\n"+
		"during to before. The ratio of the first row is the machine's, whose processors are also Redis's. The difference is\n"+
		"that of the p99 above the first row's in the same round.", connections, hotKeys, outages, rounds, round, pace)
	section("A gateway in an outage of all primaries", text, "primaries", "product",
		"requests/s before", "during", "after", "ratio (least to greatest)", "goal", "",
		"CPU before", "during", "p99 before", "during", "after", "difference", "goal", "")
	faults := []fault{killed, stopped}
	if l.short {
		faults = faults[:1]
	}
	for _, f := range faults {
		var contenders []*contender
		for _, g := range all {
			client, err := load.Dial(g.nodes[0].Port, connections)
			if err != nil {
				return err
			}
			defer client.Close()
			contenders = append(contenders, &contender{gateways: g, Target: load.Target{
				Process: g.nodes[0], Client: client, Requests: load.Distinct(hotKeys), Status: 200,
			}})
		}
		for range outages {
			for p, begin := range []func() error{func() error { return nil }, func() error { return l.strike(f) }, l.heal} {
				if err := begin(); err != nil {
					return err
				}
				err := report.Turns(rounds, contenders, func(k *contender) error { return k.measure(phase(p), round) })
				if err != nil {
					return err
				}
			}
		}
		printOutageSpeed(f, contenders)
	}
	return nil
}

// measure measures one round in a phase.
func (k *contender) measure(p phase, round time.Duration) error {
	busy, err := k.Measure(load.Load{Duration: round})
	if err != nil {
		return err
	}
	steady, err := k.Measure(load.Steady(time.Duration(float64(time.Second)/pace), round))
	k.rates[p], k.cpu[p] = append(k.rates[p], busy.Rate), append(k.cpu[p], busy.CPU)
	k.p99[p] = append(k.p99[p], steady.Latency(0.99))
	return err
}

// printOutageSpeed prints the figures of contenders. The first contender has no limiter.
func printOutageSpeed(f fault, contenders []*contender) {
	base := contenders[0].p99
	for i, k := range contenders {
		cells := []any{f, k.name}
		medians := func(format string, of ...report.Series) {
			for _, s := range of {
				cells = append(cells, fmt.Sprintf(format, s.Median()))
			}
		}
		ratio := k.rates[during].Over(k.rates[before])
		more := k.p99[during].Minus(base[during]).Minus(k.p99[before].Minus(base[before])).Median()
		medians("%.0f", k.rates[:]...)
		cells = append(cells, ratio.Spread("%.2f", ""), goal(i, ">= 0.95"), goal(i, report.Met(ratio.Median() >= 0.95)))
		medians("%.1f µs", k.cpu[:after]...)
		medians("%.3f ms", k.p99[:]...)
		report.Row(append(cells, fmt.Sprintf("%+.3f ms", more), goal(i, "<= 1 ms"), goal(i, report.Met(more <= 1)))...)
	}
}

// goal returns text, or "" in the first row, which has no limiter.
func goal(row int, text string) string {
	if row == 0 {
		return ""
	}
	return text
}
