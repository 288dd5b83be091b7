package usage

import (
	"sync/atomic"
	"time"
)

const (
	// mostWaiting and mostInZone bound the requests that wait for their turn on this node, in all zones
	// and in one.
	mostWaiting, mostInZone = 10_000, 5_000

	// MostOfKey bounds the events of a key that have been promised and whose turn has not come.
	MostOfKey = 1000
)

// waiting is how many requests wait in all zones. It outlives configurations, as they do.
var waiting atomic.Int64

// Waits count the requests that wait for their turn in a zone.
type Waits struct {
	Used      atomic.Bool   // the zone has `wait`, or had it once
	GivenBack atomic.Uint64 // turns whose client had left, and that others got
	Lost      atomic.Uint64 // turns whose client had left, and that nobody used
	Full      atomic.Uint64 // requests that were rejected because too many waited

	waiting atomic.Int64
	micros  atomic.Uint64 // that requests have waited in all
	upTo    [len(WaitBounds) + 1]atomic.Uint64
}

// WaitBounds are the upper bounds of the buckets of waits, in seconds. The last bucket has none.
var WaitBounds = [...]float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}

// Begin has a request that may wait begin, and reports false if too many wait. End ends it.
func (w *Waits) Begin() bool {
	if waiting.Add(1) <= mostWaiting {
		if w.waiting.Add(1) <= mostInZone {
			return true
		}
		w.waiting.Add(-1)
	}
	waiting.Add(-1)
	return false
}

// End ends what Begin has begun.
func (w *Waits) End() {
	w.waiting.Add(-1)
	waiting.Add(-1)
}

// Waiting returns how many requests wait.
func (w *Waits) Waiting() int64 { return w.waiting.Load() }

// Waited notes how long a request has waited.
func (w *Waits) Waited(d time.Duration) {
	w.micros.Add(uint64(d.Microseconds()))
	for i, bound := range WaitBounds {
		if d.Seconds() <= bound {
			w.upTo[i].Add(1)
			return
		}
	}
	w.upTo[len(WaitBounds)].Add(1)
}

// Histogram returns how many requests have waited, for how many seconds in all, and how many of them
// up to each of WaitBounds.
func (w *Waits) Histogram() (count uint64, seconds float64, upTo map[float64]uint64) {
	upTo = make(map[float64]uint64, len(WaitBounds))
	for i := range w.upTo {
		count += w.upTo[i].Load()
		if i < len(WaitBounds) {
			upTo[WaitBounds[i]] = count
		}
	}
	return count, float64(w.micros.Load()) / 1e6, upTo
}
