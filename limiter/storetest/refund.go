package storetest

import (
	"testing"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// testRefund checks where refunds go and how much they give back.
func testRefund(t *testing.T, open opener) {
	eachAlgorithm(t, open, func(t *testing.T, s limiter.Store, perMinute func(int64) *limiter.Rule) {
		r := perMinute(10)

		d := allowed(t, s, start, r, "same window", 6, 4)
		refund(t, s, start+1, r, "same window", 2, d)
		if got := peek(t, s, start+1, r, "same window", 6); !got.OK || got.Remaining != 6 {
			t.Errorf("after 6 taken and 2 refunded: %+v, want OK with 6 remaining", got)
		}

		d = allowed(t, s, start, r, "more than taken", 3, 7)
		refund(t, s, start, r, "more than taken", 8, d)
		remains(t, s, start, r, "more than taken", 10)
		allowed(t, s, start, r, "more than taken", 10, 0)
		denied(t, s, start, r, "more than taken", 1, 0)

		refund(t, s, start, r, "never taken", 5, d)
		allowed(t, s, start, r, "never taken", 10, 0)

		d = allowed(t, s, start, r, "at its limit", 10, 0)
		denied(t, s, start, r, "at its limit", 1, 0)
		refund(t, s, start, r, "at its limit", 1, d)
		allowed(t, s, start, r, "at its limit", 1, 0)
		denied(t, s, start, r, "at its limit", 1, 0)

		refund(t, s, start, r, "at its limit", 1, take(t, s, start, r, "at its limit", 1))
		remains(t, s, start, r, "at its limit", 0) // the take was denied
		refund(t, s, start, r, "at its limit", 1, limiter.Decision{})
		remains(t, s, start, r, "at its limit", 0) // there was no take
	})
	t.Run("passed window", func(t *testing.T) { testRefundOfPassedWindow(t, open) })
	t.Run("taken in between", func(t *testing.T) { testRefundOfTakenInBetween(t, open) })
	t.Run("not full", func(t *testing.T) { testRefundToPartialBucket(t, open) })
	t.Run("scarce", func(t *testing.T) { testRefundToScarceBucket(t, open) })
	t.Run("several", func(t *testing.T) { testRefundOfSeveral(t, open) })
}

// testRefundOfPassedWindow checks that events of a window that has passed, or that have refilled,
// are not given back to a later window.
func testRefundOfPassedWindow(t *testing.T, open opener) {
	for _, a := range algorithms {
		t.Run(a.name, func(t *testing.T) {
			s, zones := open(t, zone)
			r := perMinute(t, 1, zones[zone], a.Algorithm, 10)
			d := allowed(t, s, start, r, "key", 10, 0)
			later := start + 3*minute
			allowed(t, s, later, r, "key", 6, 4)
			refund(t, s, later, r, "key", 10, d)
			remains(t, s, later, r, "key", 4)
		})
	}
}

// testRefundOfTakenInBetween takes 4 of 10 a minute at the start, has another take consume what has
// come back meanwhile, and refunds the 4. Nothing comes back twice.
func testRefundOfTakenInBetween(t *testing.T, open opener) {
	for _, test := range []struct {
		name string
		limiter.Algorithm
		again        limiter.Instant // when another take comes
		cost, left   int64           // the cost of the other take, and what remains after it
		back         limiter.Instant // when the 4 are refunded
		before, want int64           // what remains right before the refund and right after it
	}{
		{"bucket, none refilled", limiter.Algorithm{}, 0, 6, 0, 0, 0, 4},
		{"bucket, half refilled", limiter.Algorithm{}, 12 * second, 8, 0, 12 * second, 0, 2},
		{"bucket, half refilled after the other", limiter.Algorithm{}, 6 * second, 7, 0, 12 * second, 1, 3},
		{"bucket, part of an event refilled", limiter.Algorithm{}, 3 * second, 6, 0, 3 * second, 0, 4},
		{"bucket, refilled", limiter.Algorithm{}, 24 * second, 8, 2, 24 * second, 2, 2},
		{"log", limiter.Algorithm{Kind: limiter.SlidingWindowLog}, second / 2, 6, 0, minute - 1, 0, 4},
		{"log, left", limiter.Algorithm{Kind: limiter.SlidingWindowLog}, second / 2, 6, 0, minute, 4, 4},
		{"sub-window", limiter.Algorithm{Kind: limiter.SlidingWindow, SubWindows: 2}, 30 * second, 6, 0, minute - 1, 0, 4},
		{"sub-window, half weighed", limiter.Algorithm{Kind: limiter.SlidingWindow, SubWindows: 2},
			30 * second, 6, 0, 75 * second, 2, 4},
		{"sub-window, passed", limiter.Algorithm{Kind: limiter.SlidingWindow, SubWindows: 2}, 30 * second, 6, 0, 90 * second, 4, 4},
		{"fixed window", limiter.Algorithm{Kind: limiter.FixedWindow}, 30 * second, 6, 0, minute - 1, 0, 4},
		{"fixed window, passed", limiter.Algorithm{Kind: limiter.FixedWindow}, minute, 6, 4, minute, 4, 4},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, zones := open(t, zone)
			r := perMinute(t, 1, zones[zone], test.Algorithm, 10)
			d := allowed(t, s, start, r, "key", 4, 6)
			allowed(t, s, start+test.again, r, "key", test.cost, test.left)
			remains(t, s, start+test.back, r, "key", test.before)
			refund(t, s, start+test.back, r, "key", 4, d)
			remains(t, s, start+test.back, r, "key", test.want)
			denied(t, s, start+test.back, r, "key", test.want+1, test.want)
		})
	}
}

// testRefundToPartialBucket takes 4 from a bucket of 10 a minute that has 5, empties the bucket later,
// and refunds the 4. The bucket gets back as many of them as it would still lack without the later
// take.
func testRefundToPartialBucket(t *testing.T, open opener) {
	for _, test := range []struct {
		after limiter.Instant
		want  int64
	}{
		{0, 4}, {second, 4}, {24 * second, 4}, {30*second - 1, 4}, {30 * second, 4}, {36 * second, 3}, {48 * second, 1}, {54 * second, 0},
		{2 * minute, 0},
	} {
		s, zones := open(t, zone)
		r := perMinute(t, 1, zones[zone], limiter.Algorithm{}, 10)
		allowed(t, s, start, r, "key", 5, 5)
		d := allowed(t, s, start, r, "key", 4, 1)
		now := start + test.after
		allowed(t, s, now, r, "key", peek(t, s, now, r, "key", 1).Remaining, 0)
		refund(t, s, now, r, "key", 4, d)
		remains(t, s, now, r, "key", test.want)
	}
}

func testRefundOfSeveral(t *testing.T, open opener) {
	s, zones := open(t, "a", "b")
	a := perMinute(t, 1, zones["a"], limiter.Algorithm{}, 10)
	b := perMinute(t, 2, zones["b"], limiter.Algorithm{Kind: limiter.FixedWindow}, 10)
	takes := []limiter.Take{newTake(a, "x", 4), newTake(b, "y", 5)}
	takeAll(t, s, start, takes...)
	if err := s.Refund(t.Context(), start, takes); err != nil {
		t.Fatal(err)
	}
	remains(t, s, start, a, "x", 10)
	remains(t, s, start, b, "y", 10)

	takeAll(t, s, start, takes...)
	takes[0].Decision = limiter.Decision{} // as if the take was never decided
	if err := s.Refund(t.Context(), start, takes); err != nil {
		t.Fatal(err)
	}
	remains(t, s, start, a, "x", 6)
	remains(t, s, start, b, "y", 10)
}

// testRefundToScarceBucket refunds 8 events to a bucket of 160 a minute. The bucket has refilled by
// more since the take, but was never near to being full. So it still lacks the events, and gets all of
// them back. After it was near to being full, an earlier take gets nothing back, but a take soon after
// that does.
func testRefundToScarceBucket(t *testing.T, open opener) {
	s, zones := open(t, zone)
	r := perMinute(t, 1, zones[zone], limiter.Algorithm{}, 160)
	first := allowed(t, s, start, r, "key", 30, 130)
	refund(t, s, start, r, "key", 1, first) // from here on the bucket notes when it is near to being full
	d := allowed(t, s, start+3*second, r, "key", 8, 131)
	allowed(t, s, start+6*second, r, "key", 100, 39)
	remains(t, s, start+26*second, r, "key", 92)
	refund(t, s, start+26*second, r, "key", 8, d)
	remains(t, s, start+26*second, r, "key", 100)

	allowed(t, s, start+47*second, r, "key", 100, 56) // 156 were left
	soon := allowed(t, s, start+47*second+second/50, r, "key", 8, 48)
	refund(t, s, start+50*second, r, "key", 8, d)
	remains(t, s, start+50*second, r, "key", 56)

	allowed(t, s, start+60*second, r, "key", 60, 23)
	refund(t, s, start+95*second, r, "key", 8, soon)
	remains(t, s, start+95*second, r, "key", 124) // 116 were left
}
