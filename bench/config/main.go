//go:build linux

// Command config measures what many sites cost that have a zone each: the time to adapt, to start with
// and to reload their configuration, the memory at rest, and the metrics without traffic. It measures
// the memory that is resident 5 s after the start, and the part of the heap that is live after a
// collection of garbage. Each measurement has its baseline in the same run, a Caddy without limits.
// Processor times are in parentheses. That of a reload is the sum of the server's and the command's.
//
//	go run ./config [-caddy ../bin/caddy] [-sites 1000,5000]
package main

import (
	"flag"
	"fmt"
	"strconv"
	"strings"

	"github.com/fleetlimit/fleetlimit/bench/report"
)

func main() {
	binary := flag.String("caddy", "../bin/caddy", "`path` of a Caddy with this module")
	sites := flag.String("sites", "1000,5000", "`numbers` of sites")
	flag.Parse()
	report.End("config", run(*binary, *sites))
}

func run(binary, sites string) error {
	report.Columns("sites", "limits", "adapt", "start", "reload", "memory", "memory a zone", "live", "live a zone", "metrics",
		"metrics a zone", "scrape")
	for number := range strings.SplitSeq(sites, ",") {
		n, err := strconv.Atoi(number)
		if err != nil {
			return err
		}
		bare, err := measure(binary, n, false)
		if err != nil {
			return err
		}
		limited, err := measure(binary, n, true)
		if err != nil {
			return err
		}
		bare.print(n, "none", nil)
		limited.print(n, "a zone each", bare)
	}
	return nil
}

// print prints a row. baseline has the figures without limits. It is nil if f is the baseline.
func (f *figures) print(sites int, limits string, baseline *figures) {
	perZone := func(of func(*figures) float64) string {
		if baseline == nil {
			return ""
		}
		return fmt.Sprintf("%.1f kB", (of(f)-of(baseline))/float64(sites)/1000)
	}
	report.Row(sites, limits, f.adapt, f.start, f.reload,
		fmt.Sprintf("%.0f MB", f.memory/1e6), perZone(func(f *figures) float64 { return f.memory }),
		fmt.Sprintf("%.0f MB", f.live/1e6), perZone(func(f *figures) float64 { return f.live }),
		fmt.Sprintf("%.2f MB", f.metrics/1e6), perZone(func(f *figures) float64 { return f.metrics }),
		fmt.Sprintf("%.2f s", f.scrape.Seconds()))
}
