package lease

import (
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// TestAccountPeek peeks at accounts with and without a reply of the store.
func TestAccountPeek(t *testing.T) {
	const now, at = 1000 * sec, 6000 * sec
	r := mustRule(t, fixed, limiter.Limit{Events: 100, Window: time.Minute})
	var d limiter.Decision
	if newAccount().peek(r, now, 1, &d) {
		t.Errorf("peek at an account that knows nothing = %+v, want none", d)
	}
	a := accountAfter(r, now, at, 1, 9)
	if !a.peek(r, now, 1, &d) || !d.OK || d.Remaining != 99 || d.ResetAt != now+60*sec {
		t.Errorf("peek = %+v, want OK, 99 remaining, reset at %d", d, now+60*sec)
	}
	a.remaining = [2]uint32{}
	a.deny(now, now, &limiter.LeaseRequest{Rule: r, Need: 5, Decision: limiter.Decision{At: at, RetryAt: at + 60*sec}}, 0)
	if a.peek(r, now, 5, &d); d.OK || d.RetryAt != now+60*sec {
		t.Errorf("peek at what was denied = %+v, want a denial until %d", d, now+60*sec)
	}
	if other := mustRule(t, fixed, limiter.Limit{Events: 50, Window: time.Minute}); a.peek(other, now, 1, &d) {
		t.Errorf("peek under another limit = %+v, want none", d)
	}
}

// TestTakeLate decides takes by the newest known state: of a new account, of one with a reply, and
// of one with a denial.
func TestTakeLate(t *testing.T) {
	const now, at = 1000 * sec, 6000 * sec // at a whole minute
	for _, algorithm := range []limiter.Algorithm{bucket, fixed, sliding(4), slidingWindowLog} {
		r := mustRule(t, algorithm, limiter.Limit{Events: 60, Window: time.Minute})
		late := func(a account, what string, at instant, cost int64, ok bool, left int64) (d limiter.Decision) {
			t.Helper()
			if a.takeLate(r, at, cost, &d); d.OK != ok || d.Remaining != left || d.Source != limiter.FromKnownState || d.Limit != 60 ||
				fromCaller(d.At) != at {
				t.Errorf("%v, %s: %+v, want OK %v with %d remaining", algorithm, what, d, ok, left)
			}
			return d
		}
		a := newAccount()
		late(a, "nothing is known", now, 59, true, 1)
		late(a, "one is left", now+sec, 2, false, 1)
		late(a, "one is left", now+2*sec, 1, true, 0)
		late(a, "nothing is left", now+59*sec, 1, false, 0)
		late(a, "in the next window", now+61*sec, 60, true, 0)
		if d := late(a, "more than the limit", now+61*sec, 61, false, 0); d.RetryAt != limiter.Never {
			t.Errorf("%v: retry of more than the limit at %d, want never", algorithm, d.RetryAt)
		}
		if a.idle(r, now+90*sec, 1, 1) || !a.idle(r, now+200*sec, 1, 1) {
			t.Errorf("%v: idle %v and %v, want it kept for a window", algorithm, a.idle(r, now+90*sec, 1, 1), a.idle(r, now+200*sec, 1, 1))
		}

		a = accountAfter(r, now, at, 50, 0)
		late(a, "ten are left", now, 7, true, 3)
		d := late(a, "three are left", now, 5, false, 3)
		if least := limiter.Instant(now + 2*sec); d.RetryAt < least || algorithm == bucket && d.RetryAt != least {
			t.Errorf("%v: retry at %d, want %d or later", algorithm, d.RetryAt, least)
		}
		a.withhold(-7) // the store served them
		late(a, "ten are left again", now, 10, true, 0)
		late(a, "in the next window", now+61*sec, 60, true, 0)

		a = accountAfter(r, now, at, 60, 0)
		denied := &limiter.LeaseRequest{Rule: r, Incarnation: 1, Need: 2, Decision: limiter.Decision{
			At: at, Limit: 60, RetryAt: at + 3*sec, ResetAt: at + 60*sec}}
		a.request(r, now, 2, 0, new(limiter.LeaseRequest))
		a.applyReply(r, now, now, denied, 0, false)
		if d := late(a, "after a denial", now, 2, false, 0); d.RetryAt != now+3*sec {
			t.Errorf("%v: retry after a denial at %d, want %d", algorithm, d.RetryAt, now+3*sec)
		}
		other := mustRule(t, algorithm, limiter.Limit{Events: 100, Window: time.Minute})
		if a.takeLate(other, now, 40, &d); !d.OK || d.Remaining != 0 {
			t.Errorf("%v: under a higher limit: %+v, want OK with none remaining", algorithm, d)
		}
	}
}

// TestRemainingAccruesForYears looks once a day at a bucket of ten events per window. Each event
// remains when it has accrued, to a millionth of the window.
func TestRemainingAccruesForYears(t *testing.T) {
	for _, window := range longWindows {
		r := mustRule(t, bucket, limiter.Limit{Events: 10, Window: window})
		a, l := newAccount(), []limiter.LeaseRequest{{Need: 10}}
		a.request(r, testStart, 10, 0, &l[0])
		l[0].Served, l[0].Decision = 10, limiter.Decision{OK: true, At: testStart, Limit: 10}
		a.applyReply(r, testStart, testStart, &l[0], 0, false)
		a.served(10)
		a.used = 0 // what the store has left does not bound what is shown
		for at := int64(day); at <= r.Limit.Window.Microseconds(); at += day {
			var d limiter.Decision
			a.peek(r, testStart+instant(at+r.Limit.Window.Microseconds()/1e6), 1, &d)
			if want := 10 * at / r.Limit.Window.Microseconds(); d.Remaining != want {
				t.Fatalf("window %v: remaining after %d days = %d, want %d", window, at/day, d.Remaining, want)
			}
		}
	}
}

// TestCancelServedRestoresRemaining cancels served events, which then remain as before.
func TestCancelServedRestoresRemaining(t *testing.T) {
	const now = 1000 * sec
	r := mustRule(t, fixed, limiter.Limit{Events: 100, Window: time.Minute})
	a := accountAfter(r, now, now, 30, 0)
	a.cancelServed(30)
	var d limiter.Decision
	if a.peek(r, now, 1, &d); d.Remaining != 100 {
		t.Errorf("remaining after what was served is canceled = %d, want 100", d.Remaining)
	}
}

// TestRemainingAccrues applies replies about a bucket far more often than events accrue. In a
// second, what remains grows by the rate.
func TestRemainingAccrues(t *testing.T) {
	const now = 1000 * sec
	r := mustRule(t, bucket, limiter.Limit{Events: 100, Window: time.Second, Burst: 1000})
	a := accountAfter(r, now, now, 500, 0)
	for i := range int64(334) {
		at := instant(now + 3*ms*i)
		a.request(r, at, 0, 0, new(limiter.LeaseRequest))
		a.applyReply(r, at, at, &limiter.LeaseRequest{
			Rule: r, Incarnation: 1, Decision: limiter.Decision{OK: true, At: limiter.Instant(at), Remaining: 700}}, 0, false)
	}
	var d limiter.Decision
	if a.peek(r, now+sec, 1, &d); d.Remaining != 600 {
		t.Errorf("remaining after a second = %d, want 600", d.Remaining)
	}
}
