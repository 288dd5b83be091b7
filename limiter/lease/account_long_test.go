package lease

import (
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/limiter/leasetest"
)

const day = 24 * 3600 * sec

// longWindows are windows and times of disuse that 32 bits of milliseconds do not hold: 24.8 days with a sign, 49.7 without.
var (
	longWindows = []time.Duration{30 * 24 * time.Hour, 365 * 24 * time.Hour, limiter.MaxWindow}
	longTimes   = []int64{1, 24, 25, 26, 40, 49, 50, 51, 75, 100, 365, 2000, 3649} // days
)

// TestCreditOnceInLongWindows takes three times a day for as long as two windows last, and settles at once: each window has its
// credit once.
func TestCreditOnceInLongWindows(t *testing.T) {
	for _, window := range longWindows {
		r, err := limiter.NewRule(limiter.Rule{Algorithm: fixed, Limit: limiter.Limit{Events: 100, Window: window}, MaxOvershoot: 0.1})
		if err != nil {
			t.Fatal(err)
		}
		a, credited := newAccount(), int64(0)
		g := leasetest.NewLedger(fixed)
		for now := testStart; now < testStart+limiter.Instant(2*r.Limit.Window.Microseconds()); now += day {
			for range 3 {
				if takeWith(a, r, now, 1, 1, new(limiter.Decision)) {
					credited++
				}
			}
			if a.idle(r, now, 0) {
				t.Fatalf("window %v: idle %d days after the credit = true, want false", window, (now-a.creditAt())/day)
			}
			l := []limiter.LeaseRequest{{}}
			a.request(r, now, 0, 0, &l[0])
			leasetest.Lend(1, 1, now, []*leasetest.Ledger{g}, l)
			a.applyReply(r, now, now, &l[0], 0, false)
		}
		if want := 2 * r.Credit(1); credited > want || credited == 0 {
			t.Errorf("window %v: credit in two windows = %d, want 1 to %d", window, credited, want)
		}
		if _, owed := a.outstanding(); owed != 0 {
			t.Errorf("window %v: owed in the end = %d, want 0", window, owed)
		}
		after := a.creditAt() + limiter.Instant(r.Limit.Window.Microseconds())
		if a.idle(r, after-1, 0) || !a.idle(r, after+day, 0) {
			t.Errorf("window %v: idle before the window of the credit has passed, and after it = %v and %v, want false and true",
				window, a.idle(r, after-1, 0), a.idle(r, after+day, 0))
		}
	}
}

// TestLongUnusedAccount looks at accounts that nobody has touched for years: a lease is not spent, a denial is not remembered, and
// they are idle.
func TestLongUnusedAccount(t *testing.T) {
	for _, window := range longWindows {
		for _, days := range longTimes {
			now := testStart + limiter.Instant(days*day)
			r := mustRule(t, bucket, limiter.Limit{Events: 1000, Window: window})
			leased, denied := accountAfter(r, testStart, testStart, 40, 60), accountAfter(r, testStart, testStart, 1000, 0)
			denied.deny(testStart, testStart, &limiter.LeaseRequest{Rule: r, Need: 1, Decision: limiter.Decision{At: testStart, RetryAt: testStart + limiter.Instant(r.Limit.Window.Microseconds())}}, 0)
			var d limiter.Decision
			if takeWith(leased, r, now, 1, 0, &d) {
				t.Errorf("window %v: take from a lease of %d days ago = %+v, want none", window, days, d)
			}
			if back, ends := leased.nextReturn(r, now); !back || ends != 0 {
				t.Errorf("window %v: due after %d days = %v, ends %d, want true and 0", window, days, back, ends)
			}
			if denied.denies(now, 1) || !denied.idle(r, now, 0) {
				t.Errorf("window %v: after %d days denies %v, idle %v, want false and true", window, days, denied.denies(now, 1),
					denied.idle(r, now, 0))
			}
		}
	}
}

// TestBreachOnceInLongWindows denies once a day: the first denial in a window is a breach.
func TestBreachOnceInLongWindows(t *testing.T) {
	for _, window := range longWindows {
		r := mustRule(t, fixed, limiter.Limit{Events: 1, Window: window})
		for _, days := range longTimes {
			a, now := newAccount(), testStart+limiter.Instant(days*day)
			l := limiter.LeaseRequest{Rule: r, Need: 1, Decision: limiter.Decision{RetryAt: limiter.Never}}
			a.deny(testStart, testStart, &l, 0)
			a.deny(now, now, &l, 0)
			if want := days*day >= r.Limit.Window.Microseconds(); l.Decision.Breach != want {
				t.Errorf("window %v: breach %d days after a denial = %v, want %v", window, days, l.Decision.Breach, want)
			}
		}
	}
}

// TestRemainingAccruesForYears looks at a bucket of one event in a tenth of its window, once a day: each event remains when it has
// accrued, to a millionth of the window.
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
			a.peek(r, testStart+limiter.Instant(at+r.Limit.Window.Microseconds()/1e6), 1, &d)
			if want := 10 * at / r.Limit.Window.Microseconds(); d.Remaining != want {
				t.Fatalf("window %v: remaining after %d days = %d, want %d", window, at/day, d.Remaining, want)
			}
		}
	}
}
