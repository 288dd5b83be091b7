package lease

import (
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// Microseconds.
const (
	ms  = 1_000
	sec = 1_000_000
)

// testStart is the instant, by any clock, at which tests begin if it does not matter.
const testStart = 1_800_000_000 * sec

var (
	bucket           = limiter.Algorithm{Kind: limiter.TokenBucket}
	fixed            = limiter.Algorithm{Kind: limiter.FixedWindow}
	slidingWindowLog = limiter.Algorithm{Kind: limiter.SlidingWindowLog}
)

func sliding(subWindows int) limiter.Algorithm {
	return limiter.Algorithm{Kind: limiter.SlidingWindow, SubWindows: subWindows}
}

// mustRule returns the rule that enforces l by a.
func mustRule(t testing.TB, a limiter.Algorithm, l limiter.Limit) *limiter.Rule {
	t.Helper()
	r, err := limiter.NewRule(limiter.Rule{Algorithm: a, Limit: l})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// newAccount returns an account without a reply of the store.
func newAccount() account { return account{new(hot), new(cold)} }

const day = 24 * 3600 * sec

// These windows and times without use are too long for 32 bits of milliseconds: 24.8 days with a
// sign, and 49.7 without.
var (
	longWindows = []time.Duration{30 * 24 * time.Hour, 365 * 24 * time.Hour, limiter.MaxWindow}
	longTimes   = []int64{1, 24, 25, 26, 40, 49, 50, 51, 75, 100, 365, 2000, 3649} // days
)

// accountAfter returns an account at now, after a reply: at the instant at by its clock, the store
// has served a take of cost events and granted a lease.
func accountAfter(r *limiter.Rule, now instant, at limiter.Instant, cost, granted int64) account {
	a, l := newAccount(), new(limiter.LeaseRequest)
	a.request(r, now, cost, 0, l)
	l.Incarnation, l.Served, l.Granted, l.Expires = 1, cost, granted, at+5*sec
	l.Decision = limiter.Decision{OK: true, At: at, Limit: r.Capacity(), Remaining: r.Capacity() - cost - granted}
	a.applyReply(r, now, now, l, 0, false)
	a.served(cost)
	return a
}
