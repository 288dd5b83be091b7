//go:build linux

package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fleetlimit/fleetlimit/bench/caddy"
	"github.com/fleetlimit/fleetlimit/bench/load"
	"github.com/fleetlimit/fleetlimit/bench/report"
)

// compare measures the variants of c.
func (l *lab) compare(c *comparison) error {
	upstream, stop, err := serveUpstream()
	if err != nil {
		return err
	}
	defer stop()

	var all []*contender
	for _, v := range c.variants {
		k := &contender{variant: v, status: c.status}
		site := strings.ReplaceAll(v.site, "%UPSTREAM%", strconv.Itoa(upstream))
		if k.gateway, err = l.start(v, site); err != nil {
			return fmt.Errorf("%s: %w", v.name, err)
		}
		defer k.gateway.Stop()
		if k.client, err = load.Dial(k.gateway.Port, connections); err != nil {
			return fmt.Errorf("%s: %w", v.name, err)
		}
		defer k.client.Close()
		if err := l.warm(c, k); err != nil {
			return fmt.Errorf("%s: warming up: %w", v.name, err)
		}
		all = append(all, k)
	}

	if err := l.turns(all, func(k *contender) error { return k.saturate(l.round) }); err != nil {
		return err
	}
	c.pace = loadFraction * c.variants[0].rates.Median()
	steady := load.Steady(time.Duration(float64(time.Second)/c.pace), l.round/2)
	return l.turns(all, func(k *contender) error { return k.delay(steady) })
}

// A contender is a variant with a running gateway.
type contender struct {
	*variant
	gateway  *caddy.Process
	client   *load.Client
	requests *load.Requests
	status   int // of every response
}

// turns calls do for each contender in each round.
func (l *lab) turns(all []*contender, do func(*contender) error) error {
	for round := range l.rounds {
		for turn := range all {
			k := all[(round+turn)%len(all)] // none always follows the same other
			if err := do(k); err != nil {
				return fmt.Errorf("%s: %w", k.name, err)
			}
		}
	}
	return nil
}

// warm sends every request once, and keeps the requests for the rounds.
func (l *lab) warm(c *comparison, k *contender) error {
	if !c.exhausted {
		k.requests = load.Distinct(c.keys)
		_, _, err := k.client.Send(k.requests, load.Load{Requests: c.keys}, c.status)
		return err
	}
	k.requests = load.Same()
	if !k.unlimited { // exhaust the limit first
		first, err := load.Dial(k.gateway.Port, 1)
		if err != nil {
			return err
		}
		defer first.Close()
		if _, _, err := first.Send(k.requests, load.Load{Requests: 1}, 200); err != nil {
			return err
		}
	}
	_, _, err := k.client.Send(k.requests, load.Load{Requests: 1000}, c.status)
	return err
}

// saturate measures a round in which all connections are busy.
func (k *contender) saturate(round time.Duration) error {
	before, err := k.gateway.CPUTime()
	if err != nil {
		return err
	}
	latencies, took, err := k.client.Send(k.requests, load.Load{Duration: round}, k.status)
	if err != nil {
		return err
	}
	after, err := k.gateway.CPUTime()
	if err != nil {
		return err
	}
	n := float64(len(latencies))
	k.rates = append(k.rates, n/took.Seconds())
	k.cpu = append(k.cpu, (after-before).Seconds()*1e6/n)
	return nil
}

// delay measures a round whose load leaves the gateway idle most of the time.
func (k *contender) delay(l load.Load) error {
	latencies, _, err := k.client.Send(k.requests, l, k.status)
	if err != nil {
		return err
	}
	slices.Sort(latencies)
	k.p50 = append(k.p50, report.Quantile(0.50, latencies).Seconds()*1e3)
	k.p99 = append(k.p99, report.Quantile(0.99, latencies).Seconds()*1e3)
	return nil
}

// weigh measures the resident memory of a fresh process of v, after one request of each key.
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

// serveUpstream responds ok to every request until stop is called. It runs beside the load
// generator.
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
