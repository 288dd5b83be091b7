package usage

import "sync/atomic"

const (
	// mostWaiting is the highest number of requests that wait for their turn on this node in all
	// zones, and mostInZone that in one zone.
	mostWaiting, mostInZone = 10_000, 5_000

	// MostOfKey is the highest number of events of one key that have been promised and whose turn has
	// not come.
	MostOfKey = 1000
)

// waiting is the number of requests that wait in all zones. It outlives configurations, as the
// requests do.
var waiting atomic.Int64

// Waits count the requests of a zone that wait for their turn.
type Waits struct {
	Used      atomic.Bool   // the zone has `wait`, or has had it
	GivenBack atomic.Uint64 // turns of clients that had left, which other requests got
	Lost      atomic.Uint64 // turns of clients that had left, which nobody used
	Full      atomic.Uint64 // requests that were rejected because too many waited

	Waited Durations // how long requests have waited

	waiting atomic.Int64
}

// Begin counts a request that waits, and reports true. It reports false if too many requests wait.
// After true, the caller calls End.
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

// End ends the wait that Begin has begun.
func (w *Waits) End() {
	w.waiting.Add(-1)
	waiting.Add(-1)
}

// Waiting returns the number of requests that wait in the zone.
func (w *Waits) Waiting() int64 { return w.waiting.Load() }
