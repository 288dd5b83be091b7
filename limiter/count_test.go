package limiter

import (
	"math"
	"testing"
	"time"
)

// Microseconds.
const (
	ms  = 1_000
	sec = 1_000_000
)

// mustRule returns the rule that enforces l by a.
func mustRule(t testing.TB, a Algorithm, l Limit) *Rule {
	t.Helper()
	r, err := NewRule(Rule{Algorithm: a, Limit: l})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A step is one call to a count and the decision that it must return. Instants are absolute.
type step struct {
	now  Instant
	do   func(Count, *Rule, Instant, int64) Decision
	cost int64

	ok           bool
	left         int64
	retry, reset Instant
}

// What a step does.
var (
	take   = func(c Count, r *Rule, now Instant, cost int64) Decision { return c.Take(r, now, cost) }
	peek   = func(c Count, r *Rule, now Instant, cost int64) Decision { return c.Peek(r, now, cost) }
	refund = refundOf(Never)
)

// refundOf returns a function for step.do that refunds events taken at the instant taken, or at the
// instant of the step if taken is Never. That function returns the decision that a take of one
// event would get after the refund.
func refundOf(taken Instant) func(Count, *Rule, Instant, int64) Decision {
	return refundSeen(Events{At: taken})
}

// refundSeen is refundOf with the events that were used right after the take.
func refundSeen(seen Events) func(Count, *Rule, Instant, int64) Decision {
	return func(c Count, r *Rule, now Instant, cost int64) Decision {
		seen := seen
		if seen.At == Never {
			seen.At = now
		}
		c.Refund(r, now, seen, cost)
		return c.Peek(r, now, 1)
	}
}

// run plays steps on c under r.
func run(t *testing.T, c Count, r *Rule, steps []step) {
	t.Helper()
	for i, s := range steps {
		got := s.do(c, r, s.now, s.cost)
		want := Decision{OK: s.ok, At: s.now, Limit: r.Capacity(), Remaining: s.left, RetryAt: s.retry, ResetAt: s.reset}
		if late := got.At - s.now; late > 0 && late <= LateReading { // the decision is as of the newest write
			want.At = got.At
		}
		if got != want {
			t.Fatalf("step %d, at %d, cost %d:\n got %+v\nwant %+v", i, s.now, s.cost, got, want)
		}
	}
}

// every names the algorithms that all tests of this package run on.
var every = []struct {
	name string
	Algorithm
}{
	{"bucket", Algorithm{Kind: TokenBucket}},
	{"log", Algorithm{Kind: SlidingWindowLog}},
	{"sliding-1", Algorithm{Kind: SlidingWindow, SubWindows: 1}},
	{"sliding-2", Algorithm{Kind: SlidingWindow, SubWindows: 2}},
	{"sliding-5", Algorithm{Kind: SlidingWindow, SubWindows: 5}},
	{"sliding-60", Algorithm{Kind: SlidingWindow, SubWindows: 60}},
	{"fixed", Algorithm{Kind: FixedWindow}},
}

func TestNewCountHasNoConsumption(t *testing.T) {
	for _, a := range every {
		t.Run(a.name, func(t *testing.T) {
			r := mustRule(t, a.Algorithm, Limit{Events: 7, Window: time.Minute})
			run(t, NewCount(r.Algorithm), r, []step{
				{100 * sec, peek, 7, true, 7, 100 * sec, 100 * sec},
				{100 * sec, peek, 8, false, 7, Never, 100 * sec},
			})
		})
	}
}

// TestChangedLimit lowers and raises a limit in the middle of a window. max(0, new limit -
// consumed) remains, in windows of another length too.
func TestChangedLimit(t *testing.T) {
	for _, a := range every {
		t.Run(a.name, func(t *testing.T) {
			c := NewCount(a.Algorithm)
			first := mustRule(t, a.Algorithm, Limit{Events: 10, Window: time.Minute})
			if d := c.Take(first, 60*sec, 6); !d.OK {
				t.Fatalf("take of 6 of 10 = %+v, want OK", d)
			}
			for _, test := range []struct {
				limit Limit
				left  int64
			}{
				{Limit{Events: 8, Window: time.Minute}, 2},
				{Limit{Events: 5, Window: time.Minute}, 0},
				{Limit{Events: 1_000_000_000_000, Window: time.Minute}, 999_999_999_994},
				{Limit{Events: 20, Window: time.Hour}, 14},
				{Limit{Events: 20, Window: 10 * time.Second}, 14},
				{Limit{Events: 10, Window: time.Minute}, 4},
			} {
				r := mustRule(t, a.Algorithm, test.limit)
				if got := c.Peek(r, 60*sec, 1).Remaining; got != test.left {
					t.Errorf("left of %+v = %d, want %d", test.limit, got, test.left)
				}
			}
		})
	}
}

// TestLateReading takes at readings of the clock that are up to LateReading old. The takes are
// decided as of the newest reading.
func TestLateReading(t *testing.T) {
	for _, a := range every {
		t.Run(a.name, func(t *testing.T) {
			r := mustRule(t, a.Algorithm, Limit{Events: 10, Window: time.Minute})
			late, onTime := NewCount(a.Algorithm), NewCount(a.Algorithm)
			for _, now := range []Instant{600 * sec, 600*sec - 1, 600*sec - LateReading} {
				got, want := late.Take(r, now, 3), onTime.Take(r, 600*sec, 3)
				if got != want {
					t.Errorf("take at %d, newest 600 s = %+v, want as at 600 s: %+v", now, got, want)
				}
			}
		})
	}
}

// TestClockSetBack sets the clock back by much more than a window. The key keeps its consumption.
// It is back at its full limit no later than if it took the whole limit now.
func TestClockSetBack(t *testing.T) {
	for _, a := range every {
		t.Run(a.name, func(t *testing.T) {
			r := mustRule(t, a.Algorithm, Limit{Events: 10, Window: time.Minute})
			c := NewCount(a.Algorithm)
			c.Take(r, 6000*sec, 4)
			if d := c.Take(r, 6010*sec, 3); !d.OK {
				t.Fatalf("take of 3 = %+v, want OK", d)
			}
			before := c.Peek(r, 6010*sec, 1).Remaining

			const now = 6010*sec - LateReading - 1 - 5000*sec
			d := c.Peek(r, now, 1)
			if d.Remaining != before {
				t.Errorf("left after the step = %d, want %d as before it", d.Remaining, before)
			}
			fresh := NewCount(a.Algorithm).Take(r, now, 10)
			if d.ResetAt > fresh.ResetAt {
				t.Errorf("reset = %d, want no later than %d, that of a key that takes all of its limit now", d.ResetAt, fresh.ResetAt)
			}
			if d.ResetAt <= now {
				t.Errorf("reset = %d, want later than now = %d", d.ResetAt, now)
			}
		})
	}
}

// TestHugeLimits exhausts the largest limits.
func TestHugeLimits(t *testing.T) {
	for _, a := range every {
		t.Run(a.name, func(t *testing.T) {
			const now = 1_800_000_000 * sec
			r := mustRule(t, a.Algorithm, Limit{Events: MaxEvents, Window: MaxWindow})
			c := NewCount(a.Algorithm)
			if d := c.Take(r, now, MaxEvents); !d.OK || d.Remaining != 0 || d.ResetAt <= now || d.ResetAt == Never {
				t.Errorf("take of everything = %+v, want OK and a reset", d)
			}
			d := c.Take(r, now, MaxEvents)
			if d.OK || d.RetryAt != d.ResetAt {
				t.Errorf("second take of everything = %+v, want its retry at the reset", d)
			}
			if d := c.Peek(r, now, math.MaxInt64); d.OK || d.RetryAt != Never {
				t.Errorf("take of 2^63-1 = %+v, want a denial for ever", d)
			}
			if d := c.Take(r, d.RetryAt, MaxEvents); !d.OK {
				t.Errorf("take of everything at retry = %+v, want OK", d)
			}
		})
	}
}

func TestRefundNeverBelowZero(t *testing.T) {
	for _, a := range every {
		t.Run(a.name, func(t *testing.T) {
			r := mustRule(t, a.Algorithm, Limit{Events: 10, Window: time.Minute})
			c := NewCount(a.Algorithm)
			c.Refund(r, 60*sec, Events{60 * sec, 5}, 5)
			run(t, c, r, []step{{60 * sec, peek, 1, true, 10, 60 * sec, 60 * sec}})
			c.Take(r, 60*sec, 3)
			run(t, c, r, []step{{60 * sec, refund, 1_000_000_000_000, true, 10, 60 * sec, 60 * sec}})
			if d := c.Take(r, 60*sec, 11); d.OK {
				t.Errorf("take of 11 after refunds = %+v, want a denial: the limit is 10", d)
			}
		})
	}
}
