package main

import (
	"cmp"
	"slices"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// A verdict is the result of a take.
type verdict uint8

const (
	failed verdict = iota // the store did not answer in time, so the take is neither admitted nor rejected
	admitted
	rejected
)

// A decided take has the instant of its decision, by the clock of the store if the store decided it,
// and by the clock of the node otherwise.
type decided struct {
	at      limiter.Instant
	key     int32
	verdict verdict
}

// A comparison has the differences between the decisions of a fleet and the decisions of one gateway
// with the exact algorithm, for equal takes at equal instants.
//
// The exact algorithm admits everything that it can, so a fleet that keeps the limit is never ahead of
// it. If the fleet is ahead, it has over-admitted, even if it falls behind later.
type comparison struct {
	admitted, exact int

	over  int // the highest number of events by which the fleet was ahead, summed over all keys
	short int // number of events by which the fleet was behind at the end, summed over all keys
}

// An excess is the number of events by which a fleet is ahead of the exact algorithm for a key.
type excess struct {
	now, most int
	window    limiter.Instant // number of the fixed window
}

// compare decides takes by the exact algorithm of r, in the order of their instants. It leaves out
// failed takes.
func compare(r *limiter.Rule, keys int, takes []decided) (c comparison) {
	slices.SortStableFunc(takes, func(a, b decided) int { return cmp.Compare(a.at, b.at) })
	counts, excesses := make([]limiter.Count, keys), make([]excess, keys)
	for _, k := range takes {
		if k.verdict == failed {
			continue
		}
		if counts[k.key] == nil {
			counts[k.key] = limiter.NewCount(r.Algorithm)
		}
		e := &excesses[k.key]
		if window := k.at / limiter.Instant(r.Limit.Window.Microseconds()); r.Algorithm.Kind == limiter.FixedWindow && window != e.window {
			c.add(e) // a window cannot use what another window has left
			*e = excess{window: window}
		}
		if k.verdict == admitted {
			c.admitted++
			e.now++
		}
		if counts[k.key].Take(r, k.at, 1).OK {
			c.exact++
			e.now--
		}
		e.most = max(e.most, e.now)
	}
	for i := range excesses {
		c.add(&excesses[i])
	}
	return c
}

func (c *comparison) add(e *excess) {
	c.over += e.most
	c.short += max(0, -e.now)
}
