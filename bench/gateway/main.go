//go:build linux

// Command gateway measures what the rate_limit handler costs Caddy: requests per second, processor
// time per request, latency and resident memory, each beside the same Caddy without the handler in
// the same run.
//
// The baseline is the same binary, so nothing but the handler differs. Variants take turns in short
// rounds, and ratios are taken within a round, so what else the machine does meets them alike.
// Caddy has processors of its own and the load comes from another one, so it is Caddy that is the
// bottleneck and its requests per second mean its capacity; the processor time per request does not
// depend on that.
//
// Latency under such a load is the length of a queue. So it is measured in rounds of its own, in
// which all variants get the same steady load, a fraction of what the first of them can do. It
// counts from the instant at which a request is due.
//
//	go run ./gateway -caddy ../bin/caddy [-peer <caddy>] [-floor <caddy>] [-rounds 31] [-round 400ms] [-short]
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// options are what the flags say.
type options struct {
	caddy  string // the binary with our handler
	peer   string // the binary with caddy-ratelimit; empty to leave its rows out
	floor  string // the binary of ../test/floor; empty to leave its row out
	only   string // the measurement to make; empty for all
	rounds int
	round  time.Duration
	keys   int
	conns  int
	load   float64 // while latency is measured, of what the first variant can do
	cpus   int     // for Caddy; the load generator has one more; with 0 they share all
}

func main() {
	var o options
	flag.StringVar(&o.caddy, "caddy", "../bin/caddy", "`path` of a Caddy with this module")
	flag.StringVar(&o.peer, "peer", "", "`path` of a Caddy with caddy-ratelimit, to measure it too")
	flag.StringVar(&o.floor, "floor", "", "`path` of a Caddy whose rejections are written and not decided: see test/floor")
	flag.StringVar(&o.only, "only", "", "make only this `measurement`: respond, proxy, redis, redis-many, redis-proxy, reject or memory")
	flag.IntVar(&o.rounds, "rounds", 31, "rounds of each variant")
	flag.DurationVar(&o.round, "round", 400*time.Millisecond, "duration of a round; one of latency takes half of it")
	flag.IntVar(&o.keys, "keys", 100_000, "distinct API keys and tenants")
	flag.IntVar(&o.conns, "conns", 32, "keep-alive connections")
	flag.Float64Var(&o.load, "load", 0.2, "requests per second while latency is measured, as a `fraction` of what the first variant can do")
	flag.IntVar(&o.cpus, "cpus", max(1, min(4, runtime.NumCPU()-1)), "processors for Caddy, and one more that makes the load; with 0 both share all of them")
	short := flag.Bool("short", false, "only check that everything runs: few short rounds, few keys")
	flag.Usage = usage
	flag.Parse()
	if o.load <= 0 || o.load > 1 {
		fmt.Fprintf(os.Stderr, "gateway: -load is %g: it has to be above 0 and at most 1\n", o.load)
		os.Exit(2)
	}
	if *short {
		o.rounds, o.round, o.keys = 2, 200*time.Millisecond, 2000
	}
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "gateway:", err)
		os.Exit(1)
	}
}

func usage() {
	fmt.Fprint(flag.CommandLine.Output(), `usage: gateway [flags]

It prints tables of several variants of a Caddy, the first of which has no rate_limit handler:

  requests/s, processor time   with all connections busy all the time
  p50 and p99 of the latency   at a steady load far below that (see -load), from when a request is due; and by how much
                               the p99 is above that of the first variant in the same round
  resident memory              after one request of each key

All but memory are medians over the rounds, and of what is compared within a round. The flags:

`)
	flag.PrintDefaults()
}

func run(o options) error {
	for _, path := range []*string{&o.caddy, &o.peer, &o.floor} {
		if *path == "" {
			continue
		}
		abs, err := filepath.Abs(*path)
		if err != nil {
			return err
		}
		if *path = abs; !isFile(abs) {
			return fmt.Errorf("there is no %s: run 'make build', or use another path", abs)
		}
	}
	pins, err := pin(o.cpus)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "gateway")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	redis, err := redistest.StartServer()
	if err != nil {
		return err
	}
	defer redis.Close()
	l := &lab{options: o, dir: dir, pins: pins, redis: redis.Addr}

	printMachine(pins)
	for _, c := range comparisons(o) {
		if o.only != "" && o.only != c.id {
			continue
		}
		if err := l.compare(c); err != nil {
			return fmt.Errorf("%s: %w", c.id, err)
		}
		printThroughput(c)
		printLatency(c)
	}
	if o.only == "" || o.only == "memory" {
		rows := memoryRows(o)
		if err := l.weigh(rows); err != nil {
			return fmt.Errorf("memory: %w", err)
		}
		printMemory(o, rows)
	}
	return nil
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
