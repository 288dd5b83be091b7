//go:build linux

package main

import (
	"cmp"
	"fmt"

	"github.com/prometheus/procfs"

	"github.com/fleetlimit/fleetlimit/bench/report"
)

// printMachine prints the machine on which the figures depend.
func printMachine(a affinity) {
	report.Head("go run ./gateway")
	model := "unknown"
	if fs, err := procfs.NewDefaultFS(); err == nil {
		if cpus, err := fs.CPUInfo(); err == nil && len(cpus) > 0 {
			model = cpus[0].ModelName
		}
	}
	where := fmt.Sprintf("Caddy and the load share %d", a.caddy.Count())
	if a.split {
		where = fmt.Sprintf("%d for Caddy and 1 for the load", a.caddy.Count())
	}
	fmt.Printf("\nProcessors: %s; %s.\n", model, where)
}

func printThroughput(c *comparison) {
	fmt.Printf("\n### %s\n\n", c.title)
	rates, same := make(map[string]report.Series), ""
	for _, v := range c.variants {
		rates[v.name] = v.rates
		same = cmp.Or(same, v.same)
	}
	report.Columns("variant", "requests/s", "ratio (least to greatest)", "CPU", "ratio", "to "+same, "goal")
	base := c.variants[0]
	for _, v := range c.variants {
		to, goal := "", ""
		if other := rates[v.same]; other != nil {
			ratio := v.rates.Over(other).Median()
			to = fmt.Sprintf("%.3f", ratio)
			if v.goal > 0 {
				goal = fmt.Sprintf("%.2f: %s", v.goal, report.Met(ratio >= v.goal))
			}
		}
		report.Row(v.name, fmt.Sprintf("%.0f", v.rates.Median()), v.rates.Over(base.rates).Spread("%.3f", ""),
			fmt.Sprintf("%.1f µs", v.cpu.Median()), fmt.Sprintf("%.3f", base.cpu.Over(v.cpu).Median()), to, goal)
	}
	fmt.Print("\nCPU is processor time per request.\n")
}

// latencyGoal is the highest difference, in ms, between the p99 of a variant with a goal and the p99 of
// the first variant.
const latencyGoal = 1.0

func printLatency(c *comparison) {
	fmt.Printf("\nLatency of the same at %.0f requests/s:\n\n", c.pace)
	report.Columns("variant", "p50", "p99", "p99 above the first (least to greatest)", "goal")
	for _, v := range c.variants {
		above, goal := v.p99.Minus(c.variants[0].p99), ""
		if v.goal > 0 {
			goal = fmt.Sprintf("< %g ms: %s", latencyGoal, report.Met(above.Median() < latencyGoal))
		}
		report.Row(v.name, fmt.Sprintf("%.3f ms", v.p50.Median()), fmt.Sprintf("%.3f ms", v.p99.Median()),
			above.Spread("%.3f", " ms"), goal)
	}
}

// memoryGoal is the highest difference between the memory of the second row and that of the first, in
// bytes.
const memoryGoal = 100_000_000

func printMemory(o options, variants []*variant) {
	fmt.Printf("\n### Resident memory after one request of each of %d keys with limit 1000\n\n", o.keys)
	report.Columns("variant", "resident", "above Caddy's own", "goal")
	for i, v := range variants {
		resident, goal := v.resident.Median(), ""
		above := resident - variants[0].resident.Median()
		if i == 1 {
			goal = fmt.Sprintf("< %.0f MB: %s", memoryGoal/1e6, report.Met(above < memoryGoal))
		}
		report.Row(v.name, fmt.Sprintf("%.0f MB", resident/1e6), fmt.Sprintf("%.0f MB", above/1e6), goal)
	}
}
