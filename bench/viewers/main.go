//go:build linux

// Command viewers measures what the operator's page costs Caddy, without viewers and with ten. Caddys
// get an equal steady load in short rounds that take turns: without the page, with the page and no
// viewer, and with viewers. The processor times per request are compared within a round, so other work
// of the machine affects all alike.
//
// The cost of viewers does not depend on the requests, and is less than the differences between rounds.
// So it is also measured alone, after each round, without requests. It is then the processor time per
// second, which is compared with the processor time that the load takes.
//
//	go run ./viewers -caddy ../bin/caddy [-rounds 31] [-round 4s] [-pace 20000] [-viewers 10] [-short]
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/fleetlimit/fleetlimit/bench/caddy"
	"github.com/fleetlimit/fleetlimit/bench/load"
	"github.com/fleetlimit/fleetlimit/bench/report"
)

// zones are equal to those of bench/gateway.
const zones = `	rate_limit {
		zone api_key {
			key {http.request.header.X-Api-Key}
			limit 1000/1m
		}
		zone tenant {
			key {http.request.header.X-Tenant}
			limit 1000/1m
		}
		zone address {
			key {client_ip}
			limit 1000000000/1m
		}
	}
	respond ok
`

const (
	connections = 32 // keep-alive connections to each Caddy
	mostCost    = 0.01
)

func main() {
	var o options
	flag.StringVar(&o.caddy, "caddy", "../bin/caddy", "`path` of a Caddy with this module")
	flag.IntVar(&o.rounds, "rounds", 31, "rounds of each variant")
	flag.DurationVar(&o.round, "round", 4*time.Second, "duration of a round")
	flag.IntVar(&o.pace, "pace", 20_000, "requests per second")
	flag.IntVar(&o.viewers, "viewers", 10, "viewers of the page")
	flag.IntVar(&o.keys, "keys", 100_000, "distinct API keys and tenants")
	short := flag.Bool("short", false, "only check that everything runs: two short rounds, few keys")
	flag.Parse()
	if *short {
		o.rounds, o.round, o.keys, o.pace = 2, 2*time.Second, 1000, 1000
	}
	report.End("viewers", run(o))
}

// options are the values of the flags.
type options struct {
	caddy   string
	rounds  int
	round   time.Duration
	pace    int
	viewers int
	keys    int
}

// A variant is a Caddy with a number of viewers, with its figures.
type variant struct {
	name string
	*load.Target
	viewers int
	cpu     report.Series // processor time per request in µs, by round
	idle    report.Series // processor time per second in µs, after the round
}

func (v *variant) String() string { return v.name }

func run(o options) error {
	dir, err := os.MkdirTemp("", "viewers")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var gateways []*load.Target
	for _, site := range []string{zones, "\troute {\n\trate_limit_page\n" + zones + "\t}\n"} {
		g, err := start(o.caddy, dir, site, o.keys)
		if err != nil {
			return err
		}
		defer g.Stop()
		defer g.Client.Close()
		gateways = append(gateways, g)
	}
	all := []*variant{
		{name: "without the page", Target: gateways[0]},
		{name: "the page, no viewer", Target: gateways[1]},
		{name: fmt.Sprintf("the page, %d viewers", o.viewers), Target: gateways[1], viewers: o.viewers},
	}
	if err := report.Turns(o.rounds, all, func(v *variant) error { return v.measure(&o) }); err != nil {
		return err
	}
	print(&o, all)
	return nil
}

// start starts a Caddy with a site, and sends each request once.
func start(binary, dir, site string, keys int) (*load.Target, error) {
	p, err := caddy.Start(binary, dir, "", site, nil)
	if err != nil {
		return nil, err
	}
	g := &load.Target{Process: p, Requests: load.Distinct(keys), Status: http.StatusOK}
	if g.Client, err = load.Dial(p.Port, connections); err != nil {
		p.Stop()
		return nil, err
	}
	_, _, err = g.Client.Send(g.Requests, load.Load{Requests: keys}, g.Status)
	return g, err
}

// measure measures one round.
func (v *variant) measure(o *options) error {
	leave, err := v.watch()
	if err != nil {
		return err
	}
	defer leave()
	f, err := v.Measure(load.Steady(time.Second/time.Duration(o.pace), o.round))
	if err != nil {
		return err
	}
	v.cpu = append(v.cpu, f.CPU)
	began := time.Now()
	rest, err := v.Spent(func() error {
		time.Sleep(o.round / 2)
		return nil
	})
	v.idle = append(v.idle, rest.Seconds()*1e6/time.Since(began).Seconds())
	return err
}

// watch opens the stream of the page for each viewer. Each viewer shows the keys of a zone. watch
// returns when all viewers have had a snapshot.
func (v *variant) watch() (leave func(), err error) {
	ctx, cancel := context.WithCancel(context.Background())
	var reading sync.WaitGroup
	leave = func() {
		cancel()
		reading.Wait()
	}
	for range v.viewers {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet,
			fmt.Sprintf("http://127.0.0.1:%d/rate_limit/live?zone=api_key", v.Port), nil)
		if err != nil {
			leave()
			return nil, err
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			leave()
			return nil, err
		}
		lines := bufio.NewScanner(resp.Body)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() && lines.Text() != "event: snapshot" {
		}
		reading.Go(func() {
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		})
	}
	return leave, nil
}

func print(o *options, all []*variant) {
	report.Head("go run ./viewers")
	fmt.Printf("\n### The operator's page at %d requests/s, %d rounds of %v\n\n", o.pace, o.rounds, o.round)
	report.Columns("variant", "CPU per request", "to the one without the page (least to greatest)", "CPU per second without requests",
		"of the load", "goal")
	for i, v := range all {
		share, goal := "", ""
		if i > 0 { // the time that the page and its viewers take, relative to that of the requests
			part := v.idle.Minus(all[0].idle).Median() / (all[0].cpu.Median() * float64(o.pace))
			share, goal = fmt.Sprintf("%.2f %%", 100*part), fmt.Sprintf("< %.0f %%: %s", 100*mostCost, report.Met(part < mostCost))
		}
		report.Row(v.name, fmt.Sprintf("%.2f µs", v.cpu.Median()), v.cpu.Over(all[0].cpu).Spread("%.3f", ""),
			fmt.Sprintf("%.2f ms", v.idle.Median()/1e3), share, goal)
	}
}
