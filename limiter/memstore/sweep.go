package memstore

import (
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/limiter/table"
)

const (
	// sweepSlice is how many places for entries are swept before the lock is let go: some microseconds.
	sweepSlice = 512

	// idleFor is how long a key that is back at its full limit is kept after it was last used, in µs. Most keys have their full
	// limit back before their next request, and to add one again takes far longer than to find it.
	idleFor limiter.Instant = 30_000_000
)

// sweepEvery is the janitor: it sweeps the store at each interval until the store is closed.
func (s *Store) sweepEvery(interval time.Duration) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-s.stop:
			return
		case t := <-ticker.C:
			s.sweep(limiter.At(t))
		}
	}
}

// sweep forgets all keys that are back at their full limit, and have been for a tick, and are idle.
func (s *Store) sweep(now limiter.Instant) {
	for _, z := range s.openZones() {
		for i := range z.shards {
			z.keys.Add(-int64(z.shards[i].sweep(now)))
		}
		z.overflow.sweep(now)
	}
}

// sweep forgets the entries of s that are spent and idle, and gives back the memory that they took. It returns how many.
func (s *shard) sweep(now limiter.Instant) (removed int) {
	for c, more := new(table.Cursor), true; more; {
		s.mu.Lock()
		more = s.entries.Walk(c, sweepSlice, func(e *entry) {
			if rec := e.Value(); rec.forgettable(coarseSecondOf(now)) && now-rec.idleSince >= idleFor {
				s.remove(e)
				removed++
			}
		})
		if !more {
			s.entries.Shrink()
		}
		s.mu.Unlock()
	}
	return removed
}
