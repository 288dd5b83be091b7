package usage

import (
	"sync/atomic"
	"time"
)

// Durations count durations in buckets.
type Durations struct {
	micros atomic.Uint64 // sum of all durations, in µs
	upTo   [len(durationBounds) + 1]atomic.Uint64
}

// durationBounds are the upper bounds of the buckets, in seconds. The last bucket has none.
var durationBounds = [...]float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}

// Add adds a duration.
func (d *Durations) Add(took time.Duration) {
	d.micros.Add(uint64(took.Microseconds()))
	for i, bound := range durationBounds {
		if took.Seconds() <= bound {
			d.upTo[i].Add(1)
			return
		}
	}
	d.upTo[len(durationBounds)].Add(1)
}

// Histogram returns the number of durations, their sum in seconds, and how many of them were at
// most as long as each of durationBounds.
func (d *Durations) Histogram() (count uint64, seconds float64, upTo map[float64]uint64) {
	upTo = make(map[float64]uint64, len(durationBounds))
	for i := range d.upTo {
		count += d.upTo[i].Load()
		if i < len(durationBounds) {
			upTo[durationBounds[i]] = count
		}
	}
	return count, float64(d.micros.Load()) / 1e6, upTo
}
