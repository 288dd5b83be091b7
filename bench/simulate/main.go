// Command simulate measures the simulator on a synthetic log of Caddy: the cost of one rule compared
// with that of reading the log, the cost of each further limit, and the memory per key.
//
//	go run ./simulate [-lines 1000000] [-keys 50000] [-rounds 3] [-short]
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/fleetlimit/fleetlimit/bench/report"
)

// options are the values of the flags.
type options struct{ lines, keys, rounds int }

func main() {
	var o options
	flag.IntVar(&o.lines, "lines", 1_000_000, "lines of the log, of about 1 kB each")
	flag.IntVar(&o.keys, "keys", 50_000, "keys in it, by Zipf")
	flag.IntVar(&o.rounds, "rounds", 3, "rounds, of which the report has the median")
	short := flag.Bool("short", false, "only check that everything runs: a small log")
	flag.Parse()
	if *short {
		o = options{lines: 20_000, keys: 1000, rounds: 1}
	}
	report.End("simulate", run(o))
}

func run(o options) error {
	dir, err := os.MkdirTemp("", "simulate")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	log := filepath.Join(dir, "access.log")
	size, err := writeLog(log, o)
	if err != nil {
		return err
	}
	report.Head("go run ./simulate")
	fmt.Printf("\n%d lines of %d bytes, %d keys.\n\n", o.lines, size/int64(o.lines), o.keys)
	m, err := measureAll(log, o.rounds)
	if err != nil {
		return err
	}
	m.print(o.lines)
	return nil
}
