// Command redis measures the store in Redis: how fast it decides compared with redis_rate in the same
// run, what a call costs Redis, and the memory of counts. It starts and stops its own redis-server.
//
//	go run ./redis [-callers 512] [-rounds 15] [-round 500ms] [-keys 100000] [-short]
package main

import (
	"flag"
	"fmt"
	"time"

	"github.com/fleetlimit/fleetlimit/bench/report"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// options are the values of the flags.
type options struct {
	callers int
	rounds  int
	round   time.Duration
	keys    int
}

func main() {
	var o options
	flag.IntVar(&o.callers, "callers", 512, "goroutines that take at the same time")
	flag.IntVar(&o.rounds, "rounds", 15, "rounds of each variant")
	flag.DurationVar(&o.round, "round", 500*time.Millisecond, "duration of a round")
	flag.IntVar(&o.keys, "keys", 100_000, "keys whose memory is measured")
	short := flag.Bool("short", false, "only check that everything runs: few short rounds, few keys")
	flag.Parse()
	if *short {
		o.rounds, o.round, o.keys = 2, 100*time.Millisecond, 2000
	}
	report.End("redis", run(o))
}

func run(o options) error {
	report.Head("go run ./redis")
	fmt.Println()
	s, err := redistest.StartServer()
	if err != nil {
		return err
	}
	defer s.Close()
	for _, part := range []func(*redistest.Server, options) error{compare, cost, weigh} {
		if err := part(s, o); err != nil {
			return err
		}
	}
	return nil
}
