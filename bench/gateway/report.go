//go:build linux

package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/fleetlimit/fleetlimit/bench/rounds"
)

// printMachine prints what the figures below it depend on.
func printMachine(w io.Writer, a affinity, command string) {
	where := "which Caddy and the load share"
	if a.split {
		where = fmt.Sprintf("%d for Caddy and 1 for the load", a.caddy.len())
	}
	fmt.Fprintf(w, "%s/%s, %s, %d processors, %s; %s.\n\n    %s\n",
		runtime.GOOS, runtime.GOARCH, cpuModel(), a.cpus(), where, runtime.Version(), strings.TrimSpace(command))
}

func (a *affinity) cpus() int {
	if a.split {
		return a.caddy.len() + 1
	}
	return a.caddy.len()
}

func cpuModel() string {
	info, _ := os.ReadFile("/proc/cpuinfo") // without it the model is unknown
	for line := range strings.Lines(string(info)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown processor"
}

func printThroughput(w io.Writer, c *comparison) {
	fmt.Fprintf(w, "\n### %s\n\n", c.title)
	fmt.Fprintln(w, "| variant | requests/s | ratio (least to greatest) | processor time per request | ratio | goal |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|")
	base := c.variants[0]
	for i, v := range c.variants {
		rate, cpu := rounds.Ratios(v.rates, base.rates), rounds.Ratios(base.cpu, v.cpu)
		goal := ""
		if i == 1 && c.goal > 0 {
			goal = fmt.Sprintf("%.2f: %s", c.goal, met(rounds.Median(rate) >= c.goal))
		}
		fmt.Fprintf(w, "| %s | %.0f | %.3f (%.3f to %.3f) | %.1f µs | %.3f | %s |\n", v.name, rounds.Median(v.rates),
			rounds.Median(rate), slices.Min(rate), slices.Max(rate), rounds.Median(v.cpu), rounds.Median(cpu), goal)
	}
}

// latencyGoal is by how much the p99 of the second variant may be above that of the first, in milliseconds.
const latencyGoal = 1.0

func printLatency(w io.Writer, c *comparison) {
	fmt.Fprintf(w, "\nLatency of the same at %.0f requests/s:\n\n", c.pace)
	fmt.Fprintln(w, "| variant | p50 | p99 | p99 above the first (least to greatest) | goal |")
	fmt.Fprintln(w, "|---|---|---|---|---|")
	base := c.variants[0]
	for i, v := range c.variants {
		above, goal := rounds.Differences(v.p99, base.p99), ""
		if i == 1 {
			goal = fmt.Sprintf("< %g ms: %s", latencyGoal, met(rounds.Median(above) < latencyGoal))
		}
		fmt.Fprintf(w, "| %s | %.3f ms | %.3f ms | %.3f ms (%.3f to %.3f) | %s |\n", v.name, rounds.Median(v.p50),
			rounds.Median(v.p99), rounds.Median(above), slices.Min(above), slices.Max(above), goal)
	}
}

func printMemory(w io.Writer, o options, rows []*memoryRow) {
	fmt.Fprintf(w, "\n### Resident memory after one request of each of %d keys with limit 1000\n\n", o.keys)
	fmt.Fprintln(w, "| variant | resident | above Caddy's own | goal |")
	fmt.Fprintln(w, "|---|---|---|---|")
	for i, row := range rows {
		above, goal := row.resident-rows[0].resident, ""
		if i == 1 {
			goal = fmt.Sprintf("< %d MB: %s", memoryGoal/1_000_000, met(above < memoryGoal))
		}
		fmt.Fprintf(w, "| %s | %d MB | %d MB | %s |\n", row.name, row.resident/1e6, above/1e6, goal)
	}
}

func met(ok bool) string {
	if ok {
		return "met"
	}
	return "missed"
}
