//go:build linux

package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/fleetlimit/fleetlimit/bench/load"
	"github.com/fleetlimit/fleetlimit/bench/report"
)

// compare measures the variants of c in turns.
func (l *lab) compare(c *comparison) error {
	upstream, stop, err := serveUpstream()
	if err != nil {
		return err
	}
	defer stop()

	var all []*contender
	for _, v := range c.variants {
		k := &contender{v, load.Target{Status: c.status}}
		site := strings.ReplaceAll(v.site, "%UPSTREAM%", strconv.Itoa(upstream))
		if k.Process, err = l.start(v, site); err != nil {
			return fmt.Errorf("%s: %w", v.name, err)
		}
		defer k.Stop()
		if k.Client, err = load.Dial(k.Port, connections); err != nil {
			return fmt.Errorf("%s: %w", v.name, err)
		}
		defer k.Client.Close()
		if err := l.warm(c, k); err != nil {
			return fmt.Errorf("%s: warming up: %w", v.name, err)
		}
		all = append(all, k)
	}

	// In these rounds, all connections are busy.
	err = report.Turns(l.rounds, all, func(k *contender) error {
		f, err := k.Measure(load.Load{Duration: l.round})
		k.rates, k.cpu = append(k.rates, f.Rate), append(k.cpu, f.CPU)
		return err
	})
	if err != nil {
		return err
	}
	// In these rounds, the gateways are idle most of the time.
	c.pace = loadFraction * c.variants[0].rates.Median()
	steady := load.Steady(time.Duration(float64(time.Second)/c.pace), l.round/2)
	return report.Turns(l.rounds, all, func(k *contender) error {
		f, err := k.Measure(steady)
		k.p50, k.p99 = append(k.p50, f.Latency(0.50)), append(k.p99, f.Latency(0.99))
		return err
	})
}

// A contender is a variant with a running Caddy.
type contender struct {
	*variant
	load.Target
}

// warm makes the requests for the rounds of k, and sends each of them once.
func (l *lab) warm(c *comparison, k *contender) error {
	if !c.exhausted {
		k.Requests = load.Distinct(c.keys)
		_, _, err := k.Client.Send(k.Requests, load.Load{Requests: c.keys}, c.status)
		return err
	}
	k.Requests = load.Same()
	if !k.unlimited { // exhaust the limit first
		first, err := load.Dial(k.Port, 1)
		if err != nil {
			return err
		}
		defer first.Close()
		if _, _, err := first.Send(k.Requests, load.Load{Requests: 1}, 200); err != nil {
			return err
		}
	}
	_, _, err := k.Client.Send(k.Requests, load.Load{Requests: 1000}, c.status)
	return err
}

// weigh measures the resident memory of a new process of v, after one request of each key.
func (l *lab) weigh(v *variant) error {
	g, err := l.start(v, v.site)
	if err != nil {
		return err
	}
	defer g.Stop()
	k, err := load.Dial(g.Port, connections)
	if err != nil {
		return err
	}
	defer k.Close()
	if _, _, err := k.Send(load.Distinct(l.keys), load.Load{Requests: l.keys}, 200); err != nil {
		return err
	}
	resident, err := g.Resident()
	v.resident = append(v.resident, resident)
	return err
}

// serveUpstream starts an upstream that answers every request with ok, until stop is called. It runs in
// the process of the load generator.
func serveUpstream() (port int, stop func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, nil, err
	}
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "ok")
	})}
	go func() { _ = s.Serve(l) }()
	return l.Addr().(*net.TCPAddr).Port, func() { _ = s.Close() }, nil
}
