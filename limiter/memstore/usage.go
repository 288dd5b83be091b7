package memstore

import (
	"math"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// A usage says for how long a key's count matters.
type usage struct {
	// idleSince is the instant of the newest decision about the key, or the instant from which on the
	// key can take one event again if that is later. The entry is not evicted before idleSince. So
	// after the clock was set back, an entry stays until the clock reaches idleSince again or the key
	// is used anew.
	idleSince limiter.Instant

	resetAt    coarseSecond // the count is kept until then: see keptUntil
	quietUntil coarseSecond // until then a denial is not the breach: see limiter.Decision.Breach
}

// pinned is the idleSince of an entry that a take under way needs. Only a holder of the lock sees
// it.
const pinned = limiter.Never

// breach reports whether a denial at now is the first in a window, whose length is in µs. If
// quietUntil is later than this denial could set it, it is from before the clock was set back and
// does not count.
func (u *usage) breach(window, now limiter.Instant) bool {
	if coarseSecondOf(now) < u.quietUntil && u.quietUntil <= coarseSecondAfter(now+window+limiter.LateReading) {
		return false
	}
	u.quietUntil = coarseSecondAfter(now + window)
	return true
}

// forgettable reports whether nothing is lost with the entry: the key is at its full limit, and its
// next denial would be the first.
func (u *usage) forgettable(now limiter.Instant) bool {
	return max(u.resetAt, u.quietUntil) <= coarseSecondOf(now)
}

// evictionCost orders entries by what is lost if they are evicted: nothing if they are forgettable,
// and else the less the longer they are idle. evictable is false while the key is at its limit.
func (u *usage) evictionCost(now limiter.Instant) (cost int64, evictable bool) {
	cost = int64(u.idleSince)
	if u.forgettable(now) {
		cost += math.MinInt64 / 2
	}
	return cost, u.idleSince <= now
}

// A coarseSecond is an instant in units of 2^20 µs, about a second, rounded down. It takes half the
// memory of an Instant, and nothing depends on whether an entry is removed a second later. The
// largest coarse second is in the year 2106, and stands for all later instants too.
type coarseSecond uint32

const coarseSecondBits = 20

func coarseSecondOf(now limiter.Instant) coarseSecond {
	return coarseSecond(min(max(now>>coarseSecondBits, 0), math.MaxUint32))
}

// coarseSecondAfter returns the first coarse second that begins after at.
func coarseSecondAfter(at limiter.Instant) coarseSecond {
	return coarseSecond(min(max(at>>coarseSecondBits+1, 0), math.MaxUint32))
}
