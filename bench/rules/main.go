//go:build linux

// Command rules measures what the change of one override costs if there are many others. It adds,
// changes and removes overrides through the admin API of a Caddy, with the rules in each kind of store,
// and measures how many bytes the history of a change takes there. It starts and stops its own
// redis-server and PostgreSQL.
//
//	go run ./rules [-caddy ../bin/caddy] [-overrides 100000] [-changes 50] [-only postgres] [-short]
package main

import (
	"flag"
	"fmt"

	"github.com/fleetlimit/fleetlimit/bench/report"
)

// options are the values of the flags.
type options struct {
	binary             string
	overrides, changes int
	only               string
}

func main() {
	var o options
	flag.StringVar(&o.binary, "caddy", "../bin/caddy", "`path` of a Caddy with this module")
	flag.IntVar(&o.overrides, "overrides", 100_000, "overrides in force")
	flag.IntVar(&o.changes, "changes", 50, "changes of each kind")
	flag.StringVar(&o.only, "only", "", "the only store to measure")
	short := flag.Bool("short", false, "only check that everything runs: few overrides, few changes")
	flag.Parse()
	if *short {
		o.overrides, o.changes = 2000, 3
	}
	report.End("rules", run(o))
}

func run(o options) error {
	report.Head("go run ./rules")
	fmt.Printf("\n%d overrides; milliseconds of a change, median (least to greatest) of %d:\n\n", o.overrides, o.changes)
	report.Columns("store", "add", "change", "remove", "history of a change")
	for _, store := range stores {
		if o.only != "" && o.only != store.name {
			continue
		}
		if err := store.measure(o); err != nil {
			return fmt.Errorf("%s: %w", store.name, err)
		}
	}
	return nil
}
