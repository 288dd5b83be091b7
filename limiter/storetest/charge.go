package storetest

import (
	"testing"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// testCharge checks that charges count in full, and in which window.
func testCharge(t *testing.T, open opener) {
	eachAlgorithm(t, open, func(t *testing.T, s limiter.Store, perMinute func(int64) *limiter.Rule) {
		r := perMinute(10)
		charge(t, s, start, r, "new", 4)
		remains(t, s, start, r, "new", 6)

		allowed(t, s, start, r, "beyond", 3, 7)
		charge(t, s, start, r, "beyond", 9)
		denied(t, s, start, r, "beyond", 1, 0)

		d := allowed(t, s, start, r, "refunded", 8, 2)
		charge(t, s, start, r, "refunded", 4)
		refund(t, s, start, r, "refunded", 8, d)
		remains(t, s, start, r, "refunded", 6)

		charge(t, s, start, r, "most", 1<<50)
		charge(t, s, start, r, "most", 1<<50)
		denied(t, s, start, r, "most", 1, 0)
	})
	t.Run("debt of a bucket", func(t *testing.T) { testChargedBucket(t, open) })
	t.Run("window", func(t *testing.T) { testChargedWindow(t, open) })
}

// testChargedBucket charges a bucket of 10 a minute 100 times its limit. The bucket admits nothing
// until it has got back what exceeds the limit, whatever is asked meanwhile.
func testChargedBucket(t *testing.T, open opener) {
	s, zones := open(t, zone)
	r := perMinute(t, 1, zones[zone], limiter.Algorithm{}, 10)
	allowed(t, s, start, r, "key", 10, 0)
	charge(t, s, start, r, "key", 990)
	charge(t, s, start+minute, r, "key", 10)
	for at := start + minute; at < start+100*minute; at += 9 * minute {
		if got, want := denied(t, s, at, r, "key", 1, 0), start+100*minute+6*second; got != want {
			t.Errorf("retry %v after the start, want %v", got-start, want-start)
		}
	}
	allowed(t, s, start+100*minute+6*second, r, "key", 1, 0)
	remains(t, s, start+102*minute, r, "key", 10)
}

// testChargedWindow charges windows of 10 in the middle of a minute. A charge counts in the window of
// its own instant, whenever the request was taken.
func testChargedWindow(t *testing.T, open opener) {
	for _, test := range []struct {
		limiter.Algorithm
		free   limiter.Instant // from when on 10 events can be taken
		before int64           // what remains right before
	}{
		{limiter.Algorithm{Kind: limiter.FixedWindow}, 3 * minute, 0},
		{limiter.Algorithm{Kind: limiter.SlidingWindowLog}, 3*minute + 30*second, 0},
		{limiter.Algorithm{Kind: limiter.SlidingWindow, SubWindows: 6}, 3*minute + 40*second, 9},
	} {
		s, zones := open(t, zone)
		r := perMinute(t, 1, zones[zone], test.Algorithm, 10)
		allowed(t, s, start, r, "key", 2, 8)
		charge(t, s, start+2*minute+30*second, r, "key", 30)
		denied(t, s, start+2*minute+30*second, r, "key", 1, 0)
		denied(t, s, start+test.free-1, r, "key", 10, test.before)
		allowed(t, s, start+test.free, r, "key", 10, 0)
	}
}

// charge charges key, which must succeed.
func charge(t *testing.T, s limiter.Store, now limiter.Instant, r *limiter.Rule, key string, cost int64) {
	t.Helper()
	if err := s.Charge(t.Context(), now, []limiter.Take{newTake(r, key, cost)}); err != nil {
		t.Fatal(err)
	}
}
