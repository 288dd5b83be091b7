package memstore

import (
	"math"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// An entry is what the store remembers of one key under one rule ID. It has no pointers, so that the garbage collector
// does not look at it, however many there are.
//
// A take costs what it waits for memory, hardly more. So what it reads stands together, the count and the key included;
// layout.go says how.
type entry struct {
	next slot   // in the chain of its bucket, or of the free slots
	id   uint32 // of the rule
	hash uint32 // its lower bits, which choose the bucket

	form   form   // of the count; 0 in a free slot
	length uint16 // of the key in bytes, or textAside

	// idleSince is when the key was last decided about or, when that left it at its limit, the instant from which on it
	// can take one event again. In the future, it says that the entry must not be evicted (so after the clock was set
	// back, what was used before stays until the clock is there again, or it is used anew).
	idleSince limiter.Instant

	resetAt    tick // from when on the count equals a fresh one
	quietUntil tick // until when a denial is no news: see limiter.Decision.Breach

	// The State, then the text of the key. This is the shortest; longer entries go on behind it.
	numbers [4]int64
}

// textAside is the length of keys whose text is kept aside.
const textAside = math.MaxUint16

// held is the idleSince of an entry that a take under way relies on. Only the holder of the shard's lock ever sees it.
const held = limiter.Never

// breach reports whether a denial at now is the first in a window of so many microseconds. A quiet time that ends later
// than this denial could make it end is left from before the clock was set back.
func (e *entry) breach(window, now limiter.Instant) bool {
	if tickOf(now) < e.quietUntil && e.quietUntil <= tickAfter(now+window+limiter.LateReading) {
		return false
	}
	e.quietUntil = tickAfter(now + window)
	return true
}

// evictable reports whether e may be forgotten though it has consumption.
func (e *entry) evictable(now limiter.Instant) bool { return e.idleSince <= now }

// spent reports whether nothing is lost when e is forgotten: it is at its full limit, and its next denial would be news.
func (e *entry) spent(now tick) bool { return e.resetAt <= now && e.quietUntil <= now }
