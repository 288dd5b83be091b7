package lease

import "github.com/fleetlimit/fleetlimit/limiter"

// An instant is a point in time by this node's clock, in whole microseconds since the Unix epoch.
// That clock never steps back: see clock.
//
// A limiter.Instant is by the clock of the lender. The two cannot be compared. Only the time
// between two instants, in µs, means the same by both clocks.
//
// Callers of a [Store] know no type but limiter.Instant. fromCaller converts what they give, and
// forCaller what they get in a decision of an account.
type instant int64

// never is later than every instant.
const never = instant(limiter.Never)

// fromCaller returns the instant that a caller of the store gives.
func fromCaller(i limiter.Instant) instant { return instant(i) }

// forCaller returns i as callers of the store see it.
func (i instant) forCaller() limiter.Instant { return limiter.Instant(i) }

// plus returns the instant us after i, or never when that is too late for an instant.
func (i instant) plus(us int64) instant {
	if i > 0 && us > int64(never-i) {
		return never
	}
	return i + instant(us)
}

// since returns how long i is after earlier, in µs.
func (i instant) since(earlier instant) int64 { return int64(i - earlier) }
