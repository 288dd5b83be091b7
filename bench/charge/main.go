//go:build linux

// Command charge measures what `charge usage` costs a Caddy that proxies streams of server-sent events,
// as language models send them. The Caddy proxies at three paths: without this module, with a zone, and
// with a zone that charges by usage. Requests to the three paths take turns in short rounds, and the
// processor times per response are compared within a round. So other work of the machine affects all
// paths alike.
//
//	go run ./charge -caddy ../bin/caddy [-rounds 301] [-requests 4] [-size 1048576] [-short]
package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"slices"
	"time"

	"gonum.org/v1/gonum/floats"

	"github.com/fleetlimit/fleetlimit/bench/caddy"
	"github.com/fleetlimit/fleetlimit/bench/report"
)

// mostCost is the goal: the processor time, in µs per event, that `charge usage` may take in addition
// to a zone without it.
const mostCost = 1

// sites proxies the streams at three paths. Only the last path charges by usage.
const sites = `http://127.0.0.1:%d {
	handle /without/* {
		reverse_proxy %[2]s
	}
	handle /zone/* {
		rate_limit {
			zone requests {
				key {header.X-Api-Key}
				limit 1000000000/1s
			}
		}
		reverse_proxy %[2]s
	}
	handle /charge/* {
		rate_limit {
			zone tokens {
				key {header.X-Api-Key}
				limit 1000000000/1s
				charge usage reserve 20
			}
		}
		reverse_proxy %[2]s
	}
}
`

var paths = []string{"without", "zone", "charge"}

func main() {
	var o options
	flag.StringVar(&o.caddy, "caddy", "../bin/caddy", "`path` of a Caddy with this module")
	flag.IntVar(&o.rounds, "rounds", 301, "rounds of each variant")
	flag.IntVar(&o.requests, "requests", 4, "responses in a round")
	flag.IntVar(&o.size, "size", 1<<20, "bytes of a response")
	short := flag.Bool("short", false, "only check that everything runs: two short rounds")
	flag.Parse()
	if *short {
		o.rounds, o.requests = 2, 2
	}
	report.End("charge", run(&o))
}

// options are the values of the flags.
type options struct {
	caddy            string
	rounds, requests int
	size             int
}

// A variant is what was measured at one path.
type variant struct {
	cpu   report.Series // processor time per response in µs, by round
	first report.Series // median time to the first byte in ms, by round
}

func run(o *options) error {
	dir, err := os.MkdirTemp("", "charge")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer l.Close()
	streams := newStreams(o.size)
	go func() { _ = http.Serve(l, streams) }()
	g, err := caddy.StartSites(o.caddy, dir, "", func(port int) string { return fmt.Sprintf(sites, port, l.Addr()) })
	if err != nil {
		return err
	}
	defer g.Stop()

	report.Head("go run ./charge")
	fmt.Printf("\n### Streams of %d bytes, %d rounds of %d responses\n\n", o.size, o.rounds, o.requests)
	report.Columns("stream", "path", "CPU per response", "to the zone", "least", "to the zone", "first byte, p50", "more for an event")
	for _, s := range streams {
		all := make([]variant, len(paths))
		for range o.rounds + 1 {
			for _, i := range rand.Perm(len(all)) { // a fixed order could let collections of garbage fall on one variant
				if err := all[i].measure(g, fmt.Sprintf("http://127.0.0.1:%d/%s/%s", g.Port, paths[i], s.path), o.requests); err != nil {
					return err
				}
			}
		}
		print(s, all)
	}
	return nil
}

// measure measures one round.
func (v *variant) measure(g *caddy.Process, url string, requests int) error {
	firsts := make([]float64, requests)
	cpu, err := g.Spent(func() (err error) {
		for i := 0; i < requests && err == nil; i++ {
			firsts[i], err = get(url)
		}
		return err
	})
	if err != nil {
		return err
	}
	v.cpu = append(v.cpu, cpu.Seconds()*1e6/float64(requests))
	slices.Sort(firsts)
	v.first = append(v.first, report.Quantile(0.5, firsts))
	return nil
}

// get reads a response. It returns the time to the first byte, in ms.
func get(url string) (first float64, err error) {
	r, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	r.Header.Set("X-Api-Key", "key")
	r.Header.Set("Accept-Encoding", "identity") // otherwise the client would ask for gzip
	began := time.Now()
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("%s: status %d", url, resp.StatusCode)
	}
	if _, err := io.ReadFull(resp.Body, make([]byte, 1)); err != nil {
		return 0, err
	}
	first = time.Since(began).Seconds() * 1e3
	_, err = io.Copy(io.Discard, resp.Body)
	return first, err
}

func print(s *stream, all []variant) {
	for i := range all {
		all[i].cpu, all[i].first = all[i].cpu[1:], all[i].first[1:] // the first round warms up
	}
	zone := all[1].cpu
	for i, v := range all {
		least, goal := floats.Min(v.cpu), ""
		if i == 2 {
			more := (least - floats.Min(zone)) / float64(bytes.Count(s.body, []byte("\n\n")))
			goal = fmt.Sprintf("%.2f µs, <= %d: %s", more, mostCost, report.Met(more <= mostCost))
		}
		report.Row(s.name, paths[i], fmt.Sprintf("%.0f µs", v.cpu.Median()), fmt.Sprintf("%.3f", v.cpu.Over(zone).Median()),
			fmt.Sprintf("%.0f µs", least), fmt.Sprintf("%.3f", least/floats.Min(zone)), fmt.Sprintf("%.3f ms", v.first.Median()), goal)
	}
}
