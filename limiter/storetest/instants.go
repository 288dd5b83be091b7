package storetest

import (
	"testing"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// testExactInstants checks that retry and reset are not a microsecond early or late.
func testExactInstants(t *testing.T, open opener) {
	eachAlgorithm(t, open, func(t *testing.T, s limiter.Store, perMinute func(int64) *limiter.Rule) {
		r := perMinute(7)
		at := start + 12_345_678
		for _, cost := range []int64{1, 2, 3} {
			at += 1_234_567
			take(t, s, at, r, "retry", cost)
			take(t, s, at, r, "reset", cost)
		}

		retryAt := denied(t, s, at, r, "retry", 4, 1)
		if early := peek(t, s, retryAt-1, r, "retry", 4); early.OK {
			t.Errorf("take a microsecond before its retry at %s is allowed: %+v", offset(retryAt), early)
		}
		if due := take(t, s, retryAt, r, "retry", 4); !due.OK {
			t.Errorf("take at its retry at %s: %+v, want OK", offset(retryAt), due)
		}

		resetAt := peek(t, s, at, r, "reset", 1).ResetAt
		if early := peek(t, s, resetAt-1, r, "reset", 1); early.Remaining == early.Limit {
			t.Errorf("a microsecond before its reset at %s the key is at its full limit: %+v", offset(resetAt), early)
		}
		allowed(t, s, resetAt, r, "reset", 7, 0)
	})
}

// testRepeatedDenials checks that each denial tells the same retry instant while nothing changes, or
// one that is a little later. A take is allowed at the first of these instants.
func testRepeatedDenials(t *testing.T, open opener) {
	eachAlgorithm(t, open, func(t *testing.T, s limiter.Store, perMinute func(int64) *limiter.Rule) {
		const late = 10_000 // µs
		r := perMinute(7)
		at := start + 12_345_678
		allowed(t, s, at, r, "key", 7, 0)
		retryAt := denied(t, s, at, r, "key", 1, 0)
		for _, part := range []limiter.Instant{1, 2, 50, 99} {
			again := denied(t, s, at+(retryAt-at)*part/100, r, "key", 1, 0)
			if again < retryAt || again >= retryAt+late {
				t.Errorf("retry after %d %% of the time at %s, want %s, or less than 10 ms later", part, offset(again), offset(retryAt))
			}
		}
		if due := take(t, s, retryAt, r, "key", 1); !due.OK {
			t.Errorf("take at its retry at %s: %+v, want OK", offset(retryAt), due)
		}
	})
}

// testClockSetBack checks that a clock that steps back gives no events, and that nobody waits for
// it to catch up.
func testClockSetBack(t *testing.T, open opener) {
	eachAlgorithm(t, open, func(t *testing.T, s limiter.Store, perMinute func(int64) *limiter.Rule) {
		r := perMinute(5)
		later := start + 60*minute
		allowed(t, s, later, r, "key", 5, 0)
		denied(t, s, later-limiter.LateReading, r, "key", 1, 0)
		retryAt := denied(t, s, start, r, "key", 1, 0)
		if retryAt > start+2*minute {
			t.Errorf("retry after the clock was set back at %s, want within two windows", offset(retryAt))
		}
		if d := take(t, s, retryAt, r, "key", 1); !d.OK {
			t.Errorf("take at its retry at %s: %+v, want OK", offset(retryAt), d)
		}
	})
}
