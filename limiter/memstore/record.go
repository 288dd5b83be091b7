package memstore

import (
	"github.com/fleetlimit/fleetlimit/internal/keyed"
	"github.com/fleetlimit/fleetlimit/limiter"
)

// An entry is what the store remembers of one key under one rule ID: a record and, as its numbers, the count.
type entry = keyed.Entry[record]

// A record is when a key matters. It has no pointers, so that the garbage collector does not look at it, however many
// there are.
type record struct {
	// idleSince is when the key was last decided about or, when that left it at its limit, the instant from which on it
	// can take one event again. In the future, it says that the entry must not be evicted (so after the clock was set
	// back, what was used before stays until the clock is there again, or it is used anew).
	idleSince limiter.Instant

	resetAt    coarseSecond // from when on the count equals a fresh one
	quietUntil coarseSecond // until when a denial is no news: see limiter.Decision.Breach
}

// pinned is the idleSince of an entry that a take under way relies on. Only the holder of the shard's lock ever sees it.
const pinned = limiter.Never

// breach reports whether a denial at now is the first in a window of so many microseconds. A quiet time that ends later
// than this denial could make it end is left from before the clock was set back.
func (r *record) breach(window, now limiter.Instant) bool {
	if coarseSecondOf(now) < r.quietUntil && r.quietUntil <= coarseSecondAfter(now+window+limiter.LateReading) {
		return false
	}
	r.quietUntil = coarseSecondAfter(now + window)
	return true
}

// evictable reports whether the key may be forgotten though it has consumption.
func (r *record) evictable(now limiter.Instant) bool { return r.idleSince <= now }

// forgettable reports whether nothing is lost when the key is forgotten: it is at its full limit, and its next denial would be
// news.
func (r *record) forgettable(now coarseSecond) bool { return r.resetAt <= now && r.quietUntil <= now }
