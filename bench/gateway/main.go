//go:build linux

// Command gateway measures what the rate_limit handler costs Caddy: requests per second, processor time
// per request, latency and resident memory. Each figure has two baselines in the same run: the same
// binary without the handler, and a Caddy that writes the same responses by other means.
//
// Variants take turns in short rounds, and ratios are taken within a round, so other work of the
// machine affects all variants alike. Caddy has its own processors, and the load comes from another
// one, so Caddy is the bottleneck. The processor time per request does not depend on that.
//
// Under such a load, latency would be the length of a queue. So latency is measured in rounds of its
// own. In these, all variants get an equal steady load, which is a fraction of the load that the first
// variant can serve. A latency counts from the instant at which the request is due.
//
//	go run ./gateway -caddy ../bin/caddy [-peer <caddy>] [-floor <caddy>] [-rounds 31] [-round 400ms] [-short]
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/fleetlimit/fleetlimit/bench/caddy"
	"github.com/fleetlimit/fleetlimit/bench/report"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// options are the values of the flags.
type options struct {
	caddy  string // path of a Caddy with this module
	peer   string // path of a Caddy with caddy-ratelimit; "" to leave out its rows
	floor  string // path of the binary of ../test/floor; "" to leave out its row
	only   string // the only measurement to make; "" to make all
	rounds int
	round  time.Duration
	keys   int
	cpus   int // processors for Caddy, beside one for the load generator; 0 if both share all processors
}

const (
	connections  = 32  // keep-alive connections to each Caddy
	loadFraction = 0.2 // load while latency is measured, as a fraction of what the first variant can serve
)

func main() {
	var o options
	flag.StringVar(&o.caddy, "caddy", "../bin/caddy", "`path` of a Caddy with this module")
	flag.StringVar(&o.peer, "peer", "", "`path` of a Caddy with caddy-ratelimit, to measure it too")
	flag.StringVar(&o.floor, "floor", "", "`path` of the binary of test/floor, to measure it too")
	flag.StringVar(&o.only, "only", "", "one `measurement`: respond, proxy, overrides, redis, redis-many, shares, redis-proxy, reject or memory")
	flag.IntVar(&o.rounds, "rounds", 31, "rounds of each variant")
	flag.DurationVar(&o.round, "round", 400*time.Millisecond, "duration of a round; a round of latency takes half of it")
	flag.IntVar(&o.keys, "keys", 100_000, "distinct API keys and tenants")
	flag.IntVar(&o.cpus, "cpus", max(1, min(4, runtime.NumCPU()-1)), "processors for Caddy, beside one for the load; with 0 both share all")
	short := flag.Bool("short", false, "only check that everything runs: few short rounds, few keys")
	flag.Parse()
	if *short {
		o.rounds, o.round, o.keys = 2, 200*time.Millisecond, 2000
	}
	report.End("gateway", run(o))
}

// A lab starts Caddys and measures them.
type lab struct {
	options
	dir  string // directory of their files
	pins affinity

	redis   string // address of the Redis in which some of the Caddys count
	started int    // number of Caddys that count in Redis; each has another key prefix
}

// start starts a Caddy for v. Its only site has the directives in site.
func (l *lab) start(v *variant, site string) (*caddy.Process, error) {
	options := ""
	if v.redis {
		options = fmt.Sprintf("\trate_limit {\n\t\tredis {\n\t\t\taddress %s\n\t\t\tkey_prefix rl%d\n\t\t}\n\t}\n", l.redis, l.started)
		l.started++
	}
	if v.overridden != "" {
		option, err := l.storageOption(v.overridden, l.keys)
		if err != nil {
			return nil, err
		}
		options += option
	}
	return caddy.Start(v.binary, l.dir, options, site, l.pins.onCaddysCPUs)
}

func run(o options) error {
	for _, path := range []string{o.caddy, o.peer, o.floor} {
		if _, err := os.Stat(path); path != "" && err != nil {
			return fmt.Errorf("%w: use 'make build', or another path", err)
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
		variants := memoryVariants(o)
		for _, v := range variants {
			for range 3 {
				if err := l.weigh(v); err != nil {
					return fmt.Errorf("memory: %s: %w", v.name, err)
				}
			}
		}
		printMemory(o, variants)
	}
	return nil
}
