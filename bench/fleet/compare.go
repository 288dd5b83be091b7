package main

import (
	"cmp"
	"slices"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// A verdict is the result of a take.
type verdict uint8

const (
	failed verdict = iota // the store did not answer in time: neither admitted nor rejected
	admitted
	rejected
)

// A decided take has the instant of its decision: by the store's clock if the store decided, else
// by the node's.
type decided struct {
	at      limiter.Instant
	key     int32
	verdict verdict
}

// A comparison is the difference between the decisions of a fleet and those of one gateway that
// runs the exact algorithm on the same takes at the same instants.
//
// The exact algorithm admits whatever it can, so no sequence of admissions within the limit is ever
// ahead of it. Being ahead is over-admission, however far the fleet falls behind later.
type comparison struct {
	admitted, exact int

	over  int // the most events by which the fleet was ahead of the exact algorithm, of all keys
	short int // the events by which it was behind in the end, of all keys
}

// An excess is by how many events a fleet is ahead of the exact algorithm for a key.
type excess struct {
	now, most int
	window    limiter.Instant // the number of the fixed window
}

// compare sorts takes and decides them by the exact algorithm of r. It leaves out failed takes.
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
			c.add(e) // one window may not use what another left over
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
