//go:build linux

// Command config measures what many sites with a zone each cost: to adapt, to start with and to
// reload their configuration, the memory at rest, and the metrics without traffic. The memory is both
// what is resident 5 s after the start and what of the heap is live after a collection of garbage. The
// same Caddy without limits is the baseline of the same run. Processor time is in parentheses; that of
// a reload is of the server and of the command.
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

// print prints a row. baseline is the same without limits, nil: this is it.
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
