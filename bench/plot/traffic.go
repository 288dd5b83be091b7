package main

import (
	"math/rand/v2"
	"time"

	"gonum.org/v1/plot/plotter"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// second and minute are in µs.
const (
	second = limiter.Instant(1_000_000)
	minute = 60 * second
)

// start is the instant at which figures begin, which is a full minute, so a fixed window begins.
const start = 1_800_000_000 * second

// limit is the limit of all figures.
var limit = limiter.Limit{Events: 100, Window: time.Minute}

// An event has a cost, and an instant after start at which it arrives.
type event struct {
	at   limiter.Instant
	cost int64
}

// evenly returns n events at regular intervals, from one instant up to another.
func evenly(n int, from, to limiter.Instant) (events []event) {
	for i := range n {
		events = append(events, event{from + (to-from)*limiter.Instant(i)/limiter.Instant(n), 1})
	}
	return events
}

// mixed returns the traffic on which algorithms are compared: at first within the limit, then twice the
// limit within 20 s around the end of a minute, and then steadily nearly twice the limit.
func mixed() (events []event) {
	events = append(events, evenly(60, 0, minute)...)
	events = append(events, evenly(200, 2*minute+50*second, 3*minute+10*second)...)
	return append(events, evenly(540, 5*minute, 8*minute)...)
}

// bursts returns the traffic on which sub-windows are compared: up to 40 events at once, every few
// seconds up to every half minute.
func bursts() (events []event) {
	rng := rand.New(rand.NewPCG(1, 2))
	for at := 5 * second; at < 8*minute; at += (4 + limiter.Instant(rng.Int64N(30))) * second {
		events = append(events, event{at, 5 + rng.Int64N(36)})
	}
	return events
}

// newCount returns a count and its rule. The limit is out of reach unless binding is true.
func newCount(a limiter.Algorithm, binding bool) (limiter.Count, *limiter.Rule) {
	l := limit
	if !binding {
		l.Events = limiter.MaxEvents
	}
	r, err := limiter.NewRule(limiter.Rule{Algorithm: a, Limit: l})
	if err != nil {
		panic(err) // the limits are constants of this package
	}
	return limiter.NewCount(a), r
}

// admit returns the events that a count of algorithm a admits.
func admit(a limiter.Algorithm, events []event) (admitted []event) {
	c, r := newCount(a, true)
	for _, e := range events {
		if c.Take(r, start+e.at, e.cost).OK {
			admitted = append(admitted, e)
		}
	}
	return admitted
}

// used returns samples of the events that a count of algorithm a has in its window. The limit is out of
// reach.
func used(a limiter.Algorithm, events []event, end, every limiter.Instant) (points plotter.XYs) {
	c, r := newCount(a, false)
	for at := limiter.Instant(0); at <= end; at += every {
		for len(events) > 0 && events[0].at <= at {
			c.Take(r, start+events[0].at, events[0].cost)
			events = events[1:]
		}
		left := c.Peek(r, start+at, 1).Remaining
		points = append(points, plotter.XY{X: seconds(at), Y: float64(limiter.MaxEvents - left)})
	}
	return points
}

func seconds(at limiter.Instant) float64 { return float64(at) / float64(second) }

// total returns the sum of the costs of events.
func total(events []event) (n int64) {
	for _, e := range events {
		n += e.cost
	}
	return n
}
