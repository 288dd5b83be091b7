package storetest

import (
	"testing"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// testRefund checks where refunds go and what they are worth at most.
func testRefund(t *testing.T, open opener) {
	eachAlgorithm(t, open, func(t *testing.T, s limiter.Store, perMinute func(int64) *limiter.Rule) {
		r := perMinute(10)

		allowed(t, s, start, r, "same window", 6, 4)
		refund(t, s, start+1, start, r, "same window", 2)
		if got := peek(t, s, start+1, r, "same window", 6); !got.OK || got.Remaining != 6 {
			t.Errorf("after 6 taken and 2 refunded: %+v, want OK with 6 remaining", got)
		}

		allowed(t, s, start, r, "more than taken", 3, 7)
		refund(t, s, start, start, r, "more than taken", 8)
		remains(t, s, start, r, "more than taken", 10)
		allowed(t, s, start, r, "more than taken", 10, 0)
		denied(t, s, start, r, "more than taken", 1, 0)

		refund(t, s, start, start, r, "never taken", 5)
		allowed(t, s, start, r, "never taken", 10, 0)

		allowed(t, s, start, r, "at its limit", 10, 0)
		denied(t, s, start, r, "at its limit", 1, 0)
		refund(t, s, start, start, r, "at its limit", 1)
		allowed(t, s, start, r, "at its limit", 1, 0)
		denied(t, s, start, r, "at its limit", 1, 0)
	})
	t.Run("passed window", func(t *testing.T) { testRefundOfPassedWindow(t, open) })
	t.Run("several", func(t *testing.T) { testRefundOfSeveral(t, open) })
}

// testRefundOfPassedWindow checks that what was taken in a window that has passed is not given back to a later one. A
// bucket has no windows.
func testRefundOfPassedWindow(t *testing.T, open opener) {
	for _, a := range algorithms {
		if a.Kind == limiter.TokenBucket {
			continue
		}
		t.Run(a.name, func(t *testing.T) {
			s, r := open(t, zone), perMinute(t, 1, zone, a.Algorithm, 10)
			allowed(t, s, start, r, "key", 10, 0)
			later := start + 3*minute
			allowed(t, s, later, r, "key", 6, 4)
			refund(t, s, later, start, r, "key", 10)
			remains(t, s, later, r, "key", 4)
		})
	}
}

func testRefundOfSeveral(t *testing.T, open opener) {
	s := open(t, "a", "b")
	a := perMinute(t, 1, "a", limiter.Algorithm{}, 10)
	b := perMinute(t, 2, "b", limiter.Algorithm{Kind: limiter.FixedWindow}, 10)
	takes := []limiter.Take{ask(a, "x", 4), ask(b, "y", 5)}
	takeAll(t, s, start, takes...)
	if err := s.Refund(t.Context(), start, start, takes); err != nil {
		t.Fatal(err)
	}
	remains(t, s, start, a, "x", 10)
	remains(t, s, start, b, "y", 10)
}
