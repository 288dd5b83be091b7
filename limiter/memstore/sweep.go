package memstore

import (
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// sweepSlice is how many pages, of at most 64 entries each, are swept before the lock is let go: some tens of
// microseconds.
const sweepSlice = 8

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

// sweep forgets all keys that are back at their full limit, and have been for a tick.
func (s *Store) sweep(now limiter.Instant) {
	for _, t := range *s.tables.Load() {
		for i := range t.shards {
			t.keys.Add(-int64(t.shards[i].sweep(now)))
		}
		t.overflow.sweep(now)
	}
}

// sweep forgets the entries of s that are spent, and gives back the memory that they took. It returns how many.
func (s *shard) sweep(now limiter.Instant) (removed int) {
	for from, more := 0, true; more; from += sweepSlice {
		s.mu.Lock()
		removed += s.index.sweep(from, sweepSlice, tickOf(now))
		if more = from+sweepSlice < len(s.all); !more {
			s.shrink()
		}
		s.mu.Unlock()
	}
	return removed
}
