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
	a.remaining = [2]int32{}
	a.deny(now, now, &limiter.LeaseRequest{Rule: r, Need: 5, Decision: limiter.Decision{At: at, RetryAt: at + 60*sec}}, 0)
	if a.peek(r, now, 5, &d); d.OK || d.RetryAt != now+60*sec {
		t.Errorf("peek at what was denied = %+v, want a denial until %d", d, now+60*sec)
	}
	if other := mustRule(t, fixed, limiter.Limit{Events: 50, Window: time.Minute}); a.peek(other, now, 1, &d) {
		t.Errorf("peek under another limit = %+v, want none", d)
	}
}

// TestNewestRemaining asks what remains by accounts without a reply, with a reply, and with a reply
// of a window that has passed.
func TestNewestRemaining(t *testing.T) {
	const now, at = 1000 * sec, 6000 * sec // at a whole minute
	for _, algorithm := range []limiter.Algorithm{bucket, fixed, sliding(4), slidingWindowLog} {
		r := mustRule(t, algorithm, limiter.Limit{Events: 60, Window: time.Minute})
		remains := func(a account, what string, at instant, want int64) {
			t.Helper()
			if got := a.newestRemaining(r, at); got != want {
				t.Errorf("%v, %s: remaining = %d, want %d", algorithm, what, got, want)
			}
		}
		remains(newAccount(), "nothing is known", now, 60)
		a := accountAfter(r, now, at, 50, 0)
		remains(a, "ten are left", now, 10)
		a.served(7)
		remains(a, "seven were served", now, 3)
		remains(a, "in the next window", now+61*sec, 60)
	}
}

// TestRemainingAccruesForYears looks once a day at a bucket of ten events per window. What remains
// grows by one whenever an event has accrued, to a millionth of the window.
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

// TestCancelServedRestoresRemaining cancels served events. After that, as many events remain as
// before they were served.
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
