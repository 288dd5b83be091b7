package memstore

import (
	"time"
	"unsafe"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// An entry is what the store remembers of one key under one rule ID. Its 80 bytes, the count beside it, a share of the
// buckets and the text of a long key are all the memory that a key takes.
//
// A take costs what it waits for memory, hardly more. So what a look-up reads stands together, a short key included.
type entry struct {
	next *entry // in the chain of its bucket
	key  string // the text is in short if it fits
	id   uint32 // of the rule
	hash uint32 // its lower bits, which choose the bucket

	count limiter.Count

	// idleSince is when the key was last decided about or, when that left it at its limit, the instant from which on it
	// can take one event again. In the future, it says that the entry must not be evicted (so after the clock was set
	// back, what was used before stays until the clock is there again, or it is used anew).
	idleSince limiter.Instant

	resetAt    tick // from when on the count equals a fresh one
	quietUntil tick // until when a denial is no news: see limiter.Decision.Breach

	short [16]byte // never changes once key refers to it
}

// held is the idleSince of an entry that a take under way relies on. Only the holder of the shard's lock ever sees it.
const held = limiter.Never

// newEntry returns an entry without consumption.
func newEntry(hash uint64, k *limiter.Take) *entry {
	e, count := limiter.NewCountBeside[entry](k.Rule.Algorithm)
	e.id, e.hash, e.count = k.Rule.ID, uint32(hash), count
	if n := copy(e.short[:], k.Key); n == len(k.Key) {
		e.key = unsafe.String(&e.short[0], n)
	} else {
		e.key = string(k.Key)
	}
	return e
}

// take decides k at now.
func (e *entry) take(k *limiter.Take, now limiter.Instant) {
	k.Decision = e.count.Take(k.Rule, now, k.Cost)
	e.settle(k, now)
}

// peek decides k at now and consumes nothing.
func (e *entry) peek(k *limiter.Take, now limiter.Instant) {
	k.Decision = e.count.Peek(k.Rule, now, k.Cost)
}

// refund gives back what k consumed at the instant taken.
func (e *entry) refund(k *limiter.Take, now, taken limiter.Instant) {
	e.count.Refund(k.Rule, now, taken, k.Cost)
	d := e.count.Peek(k.Rule, now, 1)
	e.idleSince, e.resetAt = d.RetryAt, tickAfter(d.ResetAt)
}

// settle remembers the decision on k, and marks it when it is the first denial of the key in a window.
func (e *entry) settle(k *limiter.Take, now limiter.Instant) {
	d := &k.Decision
	e.idleSince, e.resetAt = now, tickAfter(d.ResetAt)
	switch {
	case d.Remaining > 0:
	case !d.OK && k.Cost == 1:
		e.idleSince = d.RetryAt
	default:
		e.idleSince = e.count.Peek(k.Rule, now, 1).RetryAt
	}
	if !d.OK {
		d.Breach = e.breach(limiter.Instant(k.Rule.Limit.Window/time.Microsecond), now)
	}
}

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
