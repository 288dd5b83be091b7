package lease

import (
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/limiter/leasetest"
)

// TestCreditOncePerLongWindow takes three times a day for two windows, and settles at once. Each
// window has its credit once.
func TestCreditOncePerLongWindow(t *testing.T) {
	for _, window := range longWindows {
		r, err := limiter.NewRule(limiter.Rule{Algorithm: fixed, Limit: limiter.Limit{Events: 100, Window: window}, MaxOvershoot: 0.1})
		if err != nil {
			t.Fatal(err)
		}
		a, credited := newAccount(), int64(0)
		g := leasetest.NewLedger(fixed)
		for after := int64(0); after < 2*r.Limit.Window.Microseconds(); after += day {
			now := instant(testStart + after)
			for range 3 {
				if takeWith(a, r, now, 1, 1, new(limiter.Decision)) {
					credited++
				}
			}
			if a.idle(r, now, 0, 1) {
				t.Fatalf("window %v: idle %d days after the credit = true, want false", window, now.since(a.creditAt())/day)
			}
			l := []limiter.LeaseRequest{{}}
			a.request(r, now, 0, 0, &l[0])
			leasetest.Lend(1, 1, limiter.Instant(testStart+after), []*leasetest.Ledger{g}, l)
			a.applyReply(r, now, now, &l[0], 0, false)
		}
		if want := 2 * r.Credit(1); credited > want || credited == 0 {
			t.Errorf("window %v: credit in two windows = %d, want 1 to %d", window, credited, want)
		}
		if _, debt := a.outstanding(); debt != 0 {
			t.Errorf("window %v: debt in the end = %d, want 0", window, debt)
		}
		after := a.creditAt().plus(r.Limit.Window.Microseconds())
		if a.idle(r, after-1, 0, 1) || !a.idle(r, after+day, 0, 1) {
			t.Errorf("window %v: idle before the window of the credit has passed, and after it = %v and %v, want false and true",
				window, a.idle(r, after-1, 0, 1), a.idle(r, after+day, 0, 1))
		}
	}
}

// TestCreditNumbersAreNotReused removes an account and makes it again while the store knows the
// debt of the first one. The store debits the debt of the second one too.
func TestCreditNumbersAreNotReused(t *testing.T) {
	r, err := limiter.NewRule(limiter.Rule{Algorithm: fixed, Limit: limiter.Limit{Events: 100, Window: time.Minute}, MaxOvershoot: 1})
	if err != nil {
		t.Fatal(err)
	}
	g := leasetest.NewLedger(fixed)
	for i := range 3 {
		now := instant(1020+i) * sec
		a := newAccount()
		var l limiter.LeaseRequest
		takeWith(a, r, now, 5, 2, new(limiter.Decision))
		a.request(r, now, 0, 0, &l)
		l.Want = 0
		requests := []limiter.LeaseRequest{l}
		leasetest.Lend(1, 1, limiter.Instant(6020+i)*sec, []*leasetest.Ledger{g}, requests)
		if got, want := 100-requests[0].Decision.Remaining, int64(5*(i+1)); got != want {
			t.Errorf("consumed after account %d = %d, want %d", i+1, got, want)
		}
	}
}
