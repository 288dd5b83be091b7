package lease

import "github.com/fleetlimit/fleetlimit/limiter"

// An instant is a point in time by this node's clock, in whole microseconds since the Unix epoch.
// That clock never steps back: see clock. Within this package, a limiter.Instant is by the lender's
// clock, and only the time between two instants, in µs, goes from one clock to the other.
//
// Callers of a [Store] see no other clock than this node's. So their limiter.Instants are converted
// where they come in, and those of a Decision where an account decides.
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
