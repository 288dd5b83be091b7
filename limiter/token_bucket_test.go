package limiter

import (
	"fmt"
	"testing"
	"time"
)

var bucket = Algorithm{Kind: TokenBucket}

func TestTokenBucket(t *testing.T) {
	r := mustRule(t, bucket, Limit{Events: 1, Window: time.Second, Burst: 5})
	run(t, NewCount(bucket), r, []step{
		// Five at once, then nothing until the first event has accrued.
		{100 * sec, take, 1, true, 4, 100 * sec, 101 * sec},
		{100 * sec, take, 1, true, 3, 100 * sec, 102 * sec},
		{100 * sec, take, 3, true, 0, 100 * sec, 105 * sec},
		{100 * sec, take, 1, false, 0, 101 * sec, 105 * sec},
		{100 * sec, take, 5, false, 0, 105 * sec, 105 * sec},
		{100 * sec, take, 6, false, 0, Never, 105 * sec},
		{101*sec - 1, take, 1, false, 0, 101 * sec, 105 * sec},
		{101 * sec, take, 1, true, 0, 101 * sec, 106 * sec},
		// From here, one per second.
		{101 * sec, take, 1, false, 0, 102 * sec, 106 * sec},
		{102 * sec, take, 1, true, 0, 102 * sec, 107 * sec},
		// After a pause of 2.5 s the bucket has two events and half of a third.
		{104*sec + 500*ms, peek, 3, false, 2, 105 * sec, 107 * sec},
		{104*sec + 500*ms, take, 2, true, 0, 104*sec + 500*ms, 109 * sec},
		{105 * sec, take, 1, true, 0, 105 * sec, 110 * sec},
		// It never holds more than the burst.
		{1000 * sec, take, 5, true, 0, 1000 * sec, 1005 * sec},
		{1000 * sec, refund, 2, true, 2, 1000 * sec, 1003 * sec},
	})
}

// TestTokenBucketRefund refunds what the bucket has lacked ever since, as far as that is known.
func TestTokenBucketRefund(t *testing.T) {
	r := mustRule(t, bucket, Limit{Events: 1, Window: 10 * time.Second, Burst: 5})
	run(t, NewCount(bucket), r, []step{
		// The bucket was full before the take. Half of the events have refilled since, the rest is
		// refunded, and the bucket is full.
		{100 * sec, take, 2, true, 3, 100 * sec, 120 * sec},
		{110 * sec, refundOf(100 * sec), 2, true, 5, 110 * sec, 110 * sec},
		// Both events have accrued again, and another take got them, so they are not refunded.
		{200 * sec, take, 2, true, 3, 200 * sec, 220 * sec},
		{220 * sec, take, 5, true, 0, 220 * sec, 270 * sec},
		{220 * sec, refundOf(200 * sec), 2, false, 0, 230 * sec, 270 * sec},
		// Another take got a part of what accrued.
		{300 * sec, take, 2, true, 3, 300 * sec, 320 * sec},
		{306 * sec, take, 2, true, 1, 306 * sec, 340 * sec},
		{313 * sec, refundOf(300 * sec), 2, true, 3, 313 * sec, 333 * sec},
		{333 * sec, peek, 5, true, 5, 333 * sec, 333 * sec},
		// The bucket was not full before the take: without the take, it would still lack all or
		// some of the events.
		{340 * sec, take, 3, true, 2, 340 * sec, 370 * sec},
		{340 * sec, take, 2, true, 0, 340 * sec, 390 * sec},
		{370 * sec, refundSeen(Events{340 * sec, 5}), 2, true, 5, 370 * sec, 370 * sec},
		{371 * sec, take, 3, true, 2, 371 * sec, 401 * sec},
		{371 * sec, take, 2, true, 0, 371 * sec, 421 * sec},
		{391 * sec, take, 2, true, 0, 391 * sec, 441 * sec},
		{391 * sec, refundSeen(Events{371 * sec, 5}), 2, true, 2, 391 * sec, 421 * sec},
		{431 * sec, peek, 5, true, 5, 431 * sec, 431 * sec},
		// The clock was set back: it is not known how long the bucket has refilled since.
		{500 * sec, take, 2, true, 3, 500 * sec, 520 * sec},
		{300 * sec, refundSeen(Events{500 * sec, 2}), 2, true, 3, 300 * sec, 320 * sec},
	})
}

// TestTokenBucketFractions has events accrue in periods that are not whole microseconds. No
// fraction is lost.
func TestTokenBucketFractions(t *testing.T) {
	r := mustRule(t, bucket, Limit{Events: 3, Window: time.Second, Burst: 2}) // an event in 333,333.3 µs
	run(t, NewCount(bucket), r, []step{
		{10 * sec, take, 2, true, 0, 10 * sec, 10_666_667},
		{10_333_333, take, 1, false, 0, 10_333_334, 10_666_667},
		{10_333_334, take, 1, true, 0, 10_333_334, 11 * sec},
		{10_666_666, take, 1, false, 0, 10_666_667, 11 * sec},
		{10_666_667, take, 1, true, 0, 10_666_667, 11_333_334},
		{11*sec - 1, take, 1, false, 0, 11 * sec, 11_333_334},
		{11 * sec, take, 1, true, 0, 11 * sec, 11_666_667},
	})
}

// TestTokenBucketClockSetBack sets the clock back after a denial. A denial writes nothing, so what
// had accrued before the clock was set back is not known.
func TestTokenBucketClockSetBack(t *testing.T) {
	r := mustRule(t, bucket, Limit{Events: 1, Window: time.Second, Burst: 5})
	run(t, NewCount(bucket), r, []step{
		{100 * sec, take, 5, true, 0, 100 * sec, 105 * sec},
		{100*sec + 250*ms, take, 1, false, 0, 101 * sec, 105 * sec},
		{99*sec + 250*ms, take, 1, false, 0, 101 * sec, 105 * sec}, // late by a second
		{50 * sec, take, 1, false, 0, 51 * sec, 55 * sec},
		{51 * sec, take, 1, true, 0, 51 * sec, 56 * sec},
	})
}

// TestTokenBucketChangedRate changes the rate. The new rate counts from the newest write of the
// bucket on. The fraction of an event that had accrued by that write stays.
func TestTokenBucketChangedRate(t *testing.T) {
	slow := mustRule(t, bucket, Limit{Events: 1, Window: 10 * time.Second, Burst: 2})
	fast := mustRule(t, bucket, Limit{Events: 1, Window: time.Second, Burst: 2})
	c := NewCount(bucket)
	run(t, c, slow, []step{
		{100 * sec, take, 2, true, 0, 100 * sec, 120 * sec},
		{101 * sec, take, 1, false, 0, 110 * sec, 120 * sec},
	})
	run(t, c, fast, []step{{101 * sec, take, 1, true, 0, 101 * sec, 103 * sec}})
	run(t, c, slow, []step{{111*sec + 500*ms, take, 1, true, 0, 111*sec + 500*ms, 131 * sec}}) // 1.05 have accrued
	run(t, c, fast, []step{{111*sec + 500*ms, take, 1, false, 0, 112*sec + 450*ms, 113*sec + 450*ms}})
	run(t, c, slow, []step{{115 * sec, take, 1, false, 0, 121 * sec, 131 * sec}})
	run(t, c, slow, []step{{128 * sec, take, 1, true, 0, 128 * sec, 141 * sec}}) // 1.7 have accrued
	run(t, c, fast, []step{{128 * sec, take, 1, false, 0, 128*sec + 300*ms, 129*sec + 300*ms}})
}

func TestTokenBucketFillsNever(t *testing.T) {
	r := mustRule(t, bucket, Limit{Events: 1, Window: MaxWindow, Burst: MaxEvents})
	const tenYears = 10 * 365 * 24 * 3600 * sec
	run(t, NewCount(bucket), r, []step{
		{100 * sec, take, MaxEvents, true, 0, 100 * sec, Never},
		{100 * sec, take, 1, false, 0, 100*sec + tenYears, Never},
		{100*sec + tenYears - 1, take, 1, false, 0, 100*sec + tenYears, Never},
		{100*sec + tenYears, take, 1, true, 0, 100*sec + tenYears, Never},
	})
}

// TestTokenBucketDoesNotDrift takes at odd intervals for simulated weeks. The bucket admits exactly
// the burst and what accrued.
func TestTokenBucketDoesNotDrift(t *testing.T) {
	const weeks = 3 * 7 * 24 * 3600 * sec
	for _, test := range []struct {
		events, window, burst int64 // window in seconds
		want                  int64 // burst + floor(events * 1,814,400 s / window)
	}{
		{7, 13, 10, 10 + 976_984},
		{7, 13, 100, 100 + 976_984},
		{3, 1, 30, 30 + 5_443_200},
		{1, 3607, 2, 2 + 503},
		{999_983, 86_399, 999_983, 999_983 + 20_999_886},
	} {
		t.Run(fmt.Sprintf("%d in %d s", test.events, test.window), func(t *testing.T) {
			l := Limit{Events: test.events, Window: time.Duration(test.window) * time.Second, Burst: test.burst}
			r, c := mustRule(t, bucket, l), NewCount(bucket)

			const start = 1_800_000_000 * sec
			all := c.Take(r, start, test.burst).Limit
			// Odd, and so short that the bucket is never full: a full one accrues nothing.
			every := r.window/test.events*(test.burst-1)/2 | 1
			for now := Instant(start); ; now += Instant(every) {
				now = min(now, start+weeks)
				for d := c.Peek(r, now, 1); d.Remaining > 0; d = c.Take(r, now, d.Remaining) {
					all += d.Remaining
				}
				if now == start+weeks {
					break
				}
			}
			if all != test.want {
				t.Errorf("admitted in three weeks = %d, want %d", all, test.want)
			}
		})
	}
}
