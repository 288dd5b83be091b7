package storetest

import (
	"testing"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// testChangedLimit checks that a changed limit applies to the next take and to earlier consumption.
func testChangedLimit(t *testing.T, open opener) {
	eachAlgorithm(t, open, func(t *testing.T, s limiter.Store, perMinute func(int64) *limiter.Rule) {
		five, eight, three := perMinute(5), perMinute(8), perMinute(3)
		allowed(t, s, start, five, "key", 5, 0)
		denied(t, s, start, five, "key", 1, 0)

		remains(t, s, start, eight, "key", 3)
		allowed(t, s, start, eight, "key", 2, 1)

		remains(t, s, start, three, "key", 0)
		retryAt := denied(t, s, start, three, "key", 1, 0)
		if early := peek(t, s, retryAt-1, three, "key", 1); early.OK {
			t.Errorf("take a microsecond before its retry at %s is allowed: %+v", offset(retryAt), early)
		}
		if due := peek(t, s, retryAt, three, "key", 1); !due.OK {
			t.Errorf("take at its retry at %s: %+v, want OK", offset(retryAt), due)
		}
	})
}

// testRefundAfterLoweredLimit checks that a refund of what was taken under a larger limit gives back
// nothing that counts under the lowered limit.
func testRefundAfterLoweredLimit(t *testing.T, open opener) {
	eachAlgorithm(t, open, func(t *testing.T, s limiter.Store, perMinute func(int64) *limiter.Rule) {
		high, low := perMinute(1000), perMinute(2)
		allowed(t, s, start, high, "key", 200, 800)
		d := allowed(t, s, start, high, "key", 100, 700)
		denied(t, s, start, low, "key", 1, 0)
		refund(t, s, start, low, "key", 100, d)
		denied(t, s, start, low, "key", 1, 0)
		remains(t, s, start, high, "key", 800)
	})
}

// testLoweredAndRaisedLimit lowers the limit of a bucket, which sets aside what it lacks beyond twice
// the new limit, and then raises the limit a little. All that the bucket lacks counts again.
func testLoweredAndRaisedLimit(t *testing.T, open opener) {
	for _, raise := range []int64{1, 256, 1 << 16} {
		s, zones := open(t, zone)
		perMinute := func(events int64) *limiter.Rule {
			return perMinute(t, 1, zones[zone], limiter.Algorithm{}, events)
		}
		low, raised := perMinute(3), perMinute(3+raise)
		allowed(t, s, start, perMinute(1_000_000), "key", 900_000, 100_000)
		denied(t, s, start, low, "key", 1, 0)
		if _, err := s.AddQuota(t.Context(), start, low, []byte("key"), 1); err != nil { // AddQuota writes the count
			t.Fatal(err)
		}
		denied(t, s, start, raised, "key", 1, 0)
	}
}
