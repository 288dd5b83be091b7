package lease

import (
	"testing"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// Microseconds.
const (
	ms  = 1_000
	sec = 1_000_000
)

// begins is when tests of accounts begin whose instant does not matter.
const testStart = limiter.Instant(1_800_000_000 * sec)

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

// takeWith takes from a lease, or on credit that nodes nodes share.
func takeWith(a account, r *limiter.Rule, now limiter.Instant, cost int64, nodes int, d *limiter.Decision) bool {
	return a.take(r, now, cost, d) || a.takeOnCredit(r, now, cost, nodes, d)
}

// newAccount returns an account that knows nothing.
func newAccount() account { return account{new(hot), new(cold)} }
