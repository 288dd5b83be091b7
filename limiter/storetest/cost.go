package storetest

import (
	"testing"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// testCost checks that several events are taken as a whole or not at all.
func testCost(t *testing.T, open opener) {
	eachAlgorithm(t, open, func(t *testing.T, s limiter.Store, perMinute func(int64) *limiter.Rule) {
		r := perMinute(10)
		allowed(t, s, start, r, "key", 7, 3)
		denied(t, s, start, r, "key", 4, 3)
		allowed(t, s, start, r, "key", 3, 0)
		denied(t, s, start, r, "key", 1, 0)

		if retryAt := denied(t, s, start, r, "key", 11, 0); retryAt != limiter.Never {
			t.Errorf("retry of a cost above the limit at %s, want never", offset(retryAt))
		}
		if retryAt := denied(t, s, start, r, "fresh", 11, 10); retryAt != limiter.Never {
			t.Errorf("retry of a cost above the limit at %s, want never", offset(retryAt))
		}
		allowed(t, s, start, r, "fresh", 10, 0)

		huge := perMinute(limiter.MaxEvents)
		allowed(t, s, start, huge, "huge", limiter.MaxEvents-1, 1)
		denied(t, s, start, huge, "huge", limiter.MaxEvents, 1)
	})
}

// testPeek checks that a peek decides as a take does, and changes nothing.
func testPeek(t *testing.T, open opener) {
	eachAlgorithm(t, open, func(t *testing.T, s limiter.Store, perMinute func(int64) *limiter.Rule) {
		r := perMinute(5)
		for range 10 {
			remains(t, s, start, r, "key", 5)
		}
		allowed(t, s, start, r, "key", 3, 2)
		for range 10 {
			remains(t, s, start, r, "key", 2)
		}
		want := peek(t, s, start, r, "key", 3)
		got := take(t, s, start, r, "key", 3)
		if got.Breach = false; got != want {
			t.Errorf("take: %+v, but the peek before it: %+v", got, want)
		}
		if d := peek(t, s, start, r, "key", 2); !d.OK || d.Remaining != 2 {
			t.Errorf("peek at 2 of 2 remaining: %+v, want OK with 2 remaining", d)
		}
		allowed(t, s, start, r, "key", 2, 0)
	})
}
