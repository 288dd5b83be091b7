//go:build linux

package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fleetlimit/fleetlimit/bench/caddy"
	"github.com/fleetlimit/fleetlimit/bench/report"
)

const (
	tick   = 20 * time.Millisecond // time between two questions whether limits are enforced
	inARow = 5                     // number of consecutive questions that must find limits enforced
	asked  = 250                   // highest number of questions
)

// never is the result for a product that does not enforce its limits before the last question.
const never = asked * tick

// measurePromotion prints the time from the promotion of all replicas until limits are enforced again.
func (l *lab) measurePromotion(all []*gateways) error {
	trials := 20
	if l.short {
		trials = 1
	}
	times := make([][]time.Duration, len(all))
	for trial := range trials {
		if trial > 0 {
			if err := l.heal(); err != nil {
				return err
			}
		}
		if err := l.strike(killed); err != nil {
			return err
		}
		var nodes errgroup.Group
		for _, g := range all {
			nodes.Go(func() error { return g.useUp(trial) })
		}
		if err := nodes.Wait(); err != nil {
			return err
		}
		if err := l.promote(); err != nil {
			return err
		}
		promoted := time.Now()
		for i, g := range all {
			nodes.Go(func() error {
				took, err := g.enforcing(trial, promoted)
				times[i] = append(times[i], took)
				return err
			})
		}
		if err := nodes.Wait(); err != nil {
			return err
		}
	}
	text := fmt.Sprintf("All primaries are killed, and their replicas promoted %s later; %d trials. Two gateways of each product. A limit of one\n"+
		"request is enforced when a client that has used it at one gateway is rejected at the other, %d times in a row. Asked\n"+
		"every %v, for %s at most.", seconds(settling), trials, inARow, tick, seconds(never))
	section("From the promotion of replicas to enforcement", text, "product", "median", "max", "goal", "")
	for i, g := range all {
		slices.Sort(times[i])
		most := times[i][len(times[i])-1]
		report.Row(g.name, shown(report.Quantile(0.5, times[i])), shown(most), "< "+seconds(never), report.Met(most < never))
	}
	return nil
}

// shown formats the time until limits are enforced.
func shown(d time.Duration) string {
	if d == never {
		return "> " + seconds(d)
	}
	return fmt.Sprintf("%d ms", d.Milliseconds())
}

// useUp uses up the limits of some clients at the first gateway, while the store is away. A product
// that shares its counts at intervals, and not at each request, can enforce these limits later.
func (g *gateways) useUp(trial int) error {
	var clients errgroup.Group
	clients.SetLimit(32)
	for i := range asked {
		clients.Go(func() error { return g.first(old(trial, i)) })
	}
	return clients.Wait()
}

func old(trial, i int) string { return fmt.Sprintf("old-%d-%d", trial, i) }

// first makes the first request of a client, to the first gateway.
func (g *gateways) first(key string) error {
	status, body, err := get(g.nodes[0], "/once", key)
	if err == nil && status != 200 {
		err = fmt.Errorf("%s: the first request of a client got %d: %s", g.name, status, strings.TrimSpace(body))
	}
	return err
}

// rejects reports whether a gateway rejects the request of a client.
func rejects(n *caddy.Process, key string) (bool, error) {
	status, _, err := get(n, "/once", key)
	return status == 429, err
}

// enforcing returns the time from the promotion until the fleet enforces its limits. It does so when,
// at inARow consecutive ticks, it rejects the second request of a client: either of a new client, or of a
// client whose first request came in the outage.
func (g *gateways) enforcing(trial int, promoted time.Time) (time.Duration, error) {
	var since time.Duration
	run := 0
	for i := range asked {
		time.Sleep(time.Until(promoted.Add(time.Duration(i) * tick)))
		now, key := time.Since(promoted), fmt.Sprintf("new-%d-%d", trial, i)
		if err := g.first(key); err != nil {
			return 0, err
		}
		newer, err := rejects(g.nodes[1], key)
		if err != nil {
			return 0, err
		}
		older, err := rejects(g.nodes[1], old(trial, i))
		if err != nil {
			return 0, err
		}
		if !newer && !older {
			run = 0
			continue
		}
		if run++; run == 1 {
			since = now
		}
		if run == inARow {
			return since, nil
		}
	}
	return never, nil
}
