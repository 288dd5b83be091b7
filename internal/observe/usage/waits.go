package usage

import "sync/atomic"

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

	Waited Durations // of requests that have waited

	waiting atomic.Int64
}

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
