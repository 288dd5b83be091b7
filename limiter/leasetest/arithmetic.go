package leasetest

import (
	"math"
	"math/bits"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// follow returns the instant to decide as of when the clock reads now and newest was the newest
// reading before, and whether the clock was set back in between.
func follow(newest, now limiter.Instant) (at limiter.Instant, setBack bool) {
	if now < newest-limiter.LateReading {
		return now, true
	}
	return max(now, newest), false
}

// begin returns the beginning of the window of at, when windows of length µs follow each other from
// the Unix epoch.
func begin(at limiter.Instant, length int64) limiter.Instant { return at - at%limiter.Instant(length) }

func window(r *limiter.Rule) limiter.Instant { return limiter.Instant(r.Limit.Window.Microseconds()) }

// mulAddDiv returns the quotient and the remainder of (a*b + d) / c with a 128-bit dividend. The
// quotient is math.MaxInt64, and the remainder 0, when it does not fit. a, b, d >= 0, c > 0.
func mulAddDiv(a, b, d, c int64) (quotient, remainder int64) {
	high, low := bits.Mul64(uint64(a), uint64(b))
	low, carry := bits.Add64(low, uint64(d), 0)
	if high += carry; high >= uint64(c) {
		return math.MaxInt64, 0
	}
	q, rem := bits.Div64(high, low, uint64(c))
	if q > math.MaxInt64 {
		return math.MaxInt64, 0
	}
	return int64(q), int64(rem)
}

// fractionAt returns the numerator over the denominator to of a fraction of an event that was kept
// under the denominator from: in units of 2^-44 of an event, rounded down. It is the largest that is
// less than one unit more. So it is above the fraction by less than a unit.
func fractionAt(fraction, from, to int64) int64 {
	kept, _ := mulAddDiv(fraction, 1<<44, 0, from)
	numerator, rest := mulAddDiv(kept+1, to, 0, 1<<44)
	if rest == 0 {
		numerator--
	}
	return numerator
}

// decide writes the answer to a take of cost events at the instant at, after which used events are
// consumed. denied reports that RetryAt is still to be found. ResetAt is at until the algorithm
// knows a later instant.
func decide(d *limiter.Decision, r *limiter.Rule, at limiter.Instant, used int64, ok bool, cost int64) (denied bool) {
	*d = limiter.Decision{
		OK: ok, Source: limiter.FromStore, Limit: r.Capacity(), Remaining: max(0, r.Capacity()-used),
		At: at, RetryAt: at, ResetAt: at,
	}
	if !ok && cost > r.Capacity() {
		d.RetryAt = limiter.Never
		return false
	}
	return !ok
}

// capRetry makes a denial retry when the last lease expires, if that is earlier: until then, events
// may be returned.
func capRetry(d *limiter.Decision, leasedUntil limiter.Instant) {
	if !d.OK && d.RetryAt != limiter.Never && leasedUntil > d.At {
		d.RetryAt = min(d.RetryAt, leasedUntil)
	}
}
