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
)

// compare fills in the figures of c's variants.
func (l *lab) compare(c *comparison) error {
	upstream, stop, err := serveUpstream()
	if err != nil {
		return err
	}
	defer stop()

	gateways := make([]*caddy, len(c.variants))
	clients := make([]*client, len(c.variants))
	loads := make([]*requests, len(c.variants))
	for i, v := range c.variants {
		site := strings.ReplaceAll(v.site, "%UPSTREAM%", strconv.Itoa(upstream))
		if gateways[i], err = l.start(v, site); err != nil {
			return fmt.Errorf("%s: %w", v.name, err)
		}
		defer gateways[i].stop()
		if clients[i], err = dial(gateways[i].port, l.conns); err != nil {
			return fmt.Errorf("%s: %w", v.name, err)
		}
		defer clients[i].close()
		if loads[i], err = l.warm(c, i, gateways[i], clients[i]); err != nil {
			return fmt.Errorf("%s: warming up: %w", v.name, err)
		}
	}

	for round := range l.rounds {
		for turn := range c.variants {
			i := (round + turn) % len(c.variants) // so that none always follows the same other
			if err := c.variants[i].measure(gateways[i], clients[i], loads[i], l.round, c.status); err != nil {
				return fmt.Errorf("%s: %w", c.variants[i].name, err)
			}
		}
	}
	return nil
}

// warm sends every request once, and returns the requests to go on with.
func (l *lab) warm(c *comparison, i int, g *caddy, k *client) (*requests, error) {
	if !c.exhaust {
		n := l.keys
		if c.keys > 0 {
			n = c.keys
		}
		all := distinct(n)
		_, _, err := k.send(all, load{requests: n}, c.status)
		return all, err
	}
	one := same()
	if !c.variants[i].rejects { // spend the limit first
		first, err := dial(g.port, 1)
		if err != nil {
			return nil, err
		}
		defer first.close()
		if _, _, err := first.send(one, load{requests: 1}, 200); err != nil {
			return nil, err
		}
	}
	_, _, err := k.send(one, load{requests: 1000}, c.status)
	return one, err
}

// measure adds the figures of one round to v.
func (v *variant) measure(g *caddy, k *client, r *requests, round time.Duration, status int) error {
	before, err := g.cpuTime()
	if err != nil {
		return err
	}
	n, took, err := k.send(r, load{duration: round}, status)
	if err != nil {
		return err
	}
	after, err := g.cpuTime()
	if err != nil {
		return err
	}
	v.rates = append(v.rates, float64(n)/took.Seconds())
	v.cpu = append(v.cpu, (after-before).Seconds()*1e6/float64(n))
	return nil
}

// weigh fills in the resident memory of rows: the median of three fresh processes after one request of each key.
func (l *lab) weigh(rows []*memoryRow) error {
	for _, row := range rows {
		var samples []int64
		for range 3 {
			resident, err := l.weighOnce(row)
			if err != nil {
				return fmt.Errorf("%s: %w", row.name, err)
			}
			samples = append(samples, resident)
		}
		slices.Sort(samples)
		row.resident = samples[1]
	}
	return nil
}

func (l *lab) weighOnce(row *memoryRow) (int64, error) {
	g, err := l.start(&row.variant, row.site)
	if err != nil {
		return 0, err
	}
	defer g.stop()
	k, err := dial(g.port, l.conns)
	if err != nil {
		return 0, err
	}
	defer k.close()
	if _, _, err := k.send(distinct(l.keys), load{requests: l.keys}, 200); err != nil {
		return 0, err
	}
	return g.resident()
}

// serveUpstream answers every request with ok, beside the load generator, until stop is called.
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
