package lease

import (
	"math"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// TestSuccessiveDenials denies several times in a row. Each denial is remembered until its own
// retry instant.
func TestSuccessiveDenials(t *testing.T) {
	r := mustRule(t, fixed, limiter.Limit{Events: 10, Window: time.Hour})
	a, now := newAccount(), instant(testStart)
	for _, lasts := range []int64{400 * ms, 30 * ms, 900 * ms} {
		var l limiter.LeaseRequest
		a.request(r, now, 1, 0, &l)
		at := limiter.Instant(now) + 3*sec // by the store's clock
		l.Decision = limiter.Decision{At: at, RetryAt: at + limiter.Instant(lasts)}
		a.applyReply(r, now, now, &l, 0, false)
		var d limiter.Decision
		if !a.take(r, now.plus(lasts-1), 1, &d) || d.OK || d.RetryAt != now.plus(lasts).forCaller() {
			t.Errorf("take within a denial of %d µs = %+v, want it remembered until %d", lasts, d, now.plus(lasts))
		}
		if now = now.plus(lasts); a.take(r, now, 1, &d) {
			t.Errorf("take when a denial of %d µs has passed = %+v, want the store to decide", lasts, d)
		}
	}
}

// TestStrictDenialIsExact repeats a denial for as long as the store is certain to deny, and tells
// larger takes to wait longer.
func TestStrictDenialIsExact(t *testing.T) {
	const sent, now, at = 1000 * sec, 1000*sec + 20*ms, 6000 * sec
	for _, test := range []struct {
		algorithm  limiter.Algorithm
		wait, more limiter.Instant // how long takes of one and of two events wait
		until      instant         // until when the denial is remembered
	}{
		{bucket, 500 * ms, 500*ms + sec, sent + 500*ms},
		{fixed, 40 * sec, 40 * sec, now + sec},
		{slidingWindowLog, 500 * ms, 40 * sec, sent + 500*ms},
	} {
		r := mustRule(t, test.algorithm, limiter.Limit{Events: 60, Window: time.Minute})
		strict := *r
		strict.Strict = true
		r, err := limiter.NewRule(strict)
		if err != nil {
			t.Fatal(err)
		}
		a := newAccount()
		a.request(r, sent, 1, 0, new(limiter.LeaseRequest))
		a.applyReply(r, sent, now, &limiter.LeaseRequest{Rule: r, Incarnation: 1, Need: 1, Decision: limiter.Decision{
			At: at, Limit: 60, RetryAt: at + test.wait, ResetAt: at + 40*sec}}, 7*sec, false)
		for _, take := range []struct {
			cost  int64
			retry limiter.Instant
		}{{1, now + test.wait}, {2, now + test.more}, {61, limiter.Never}} {
			var d limiter.Decision
			for _, peek := range []bool{false, true} {
				d = limiter.Decision{}
				if peek {
					a.peek(r, now, take.cost, &d)
				} else if !a.take(r, now, take.cost, &d) {
					t.Fatalf("%v: a take of %d is not decided", test.algorithm, take.cost)
				}
				if reset := limiter.Instant(now + 40*sec); d.OK || d.RetryAt != take.retry || d.ResetAt < reset || d.ResetAt > reset+ms {
					t.Errorf("%v: take of %d: %+v, want a denial until %d, reset at %d", test.algorithm, take.cost, d, take.retry, reset)
				}
			}
		}
		if !a.denies(r, test.until-ms, 1) || a.denies(r, test.until, 1) {
			t.Errorf("%v: denies before %d and then = %v and %v, want true and false", test.algorithm, test.until,
				a.denies(r, test.until-ms, 1), a.denies(r, test.until, 1))
		}
		a.refunded(1)
		if a.denies(r, now, 1) {
			t.Errorf("%v: denies after a refund, want it cleared", test.algorithm)
		}
		if other := mustRule(t, test.algorithm, limiter.Limit{Events: 60, Window: time.Minute}); a.appliesTo(other) {
			t.Errorf("%v: an account under a strict rule applies to a rule that is not strict", test.algorithm)
		}
	}
}

// TestBreachOncePerWindow marks only the first denial in a window.
func TestBreachOncePerWindow(t *testing.T) {
	r, a := mustRule(t, fixed, limiter.Limit{Events: 9, Window: time.Minute}), newAccount()
	for after := int64(0); after < 200*sec; after += 2 * sec {
		now, at := instant(1000*sec+after), limiter.Instant(5000*sec+after)
		l := &limiter.LeaseRequest{Rule: r, Need: 1, Incarnation: 1, Decision: limiter.Decision{At: at, RetryAt: at + sec}}
		a.request(r, now, 1, 0, new(limiter.LeaseRequest))
		a.applyReply(r, now, now, l, 0, false)
		if want := after%(60*sec) == 0; l.Decision.Breach != want {
			t.Errorf("denial after %d s: breach = %v, want %v", after/sec, l.Decision.Breach, want)
		}
	}
}

// TestBreachOncePerLongWindow denies twice. The second denial is a breach when a window has passed.
func TestBreachOncePerLongWindow(t *testing.T) {
	for _, window := range longWindows {
		r := mustRule(t, fixed, limiter.Limit{Events: 1, Window: window})
		for _, days := range longTimes {
			a, now := newAccount(), instant(testStart+days*day)
			l := limiter.LeaseRequest{Rule: r, Need: 1, Decision: limiter.Decision{RetryAt: limiter.Never}}
			a.deny(testStart, testStart, &l, 0)
			a.deny(now, now, &l, 0)
			if want := days*day >= r.Limit.Window.Microseconds(); l.Decision.Breach != want {
				t.Errorf("window %v: breach %d days after a denial = %v, want %v", window, days, l.Decision.Breach, want)
			}
		}
	}
}

// TestLastDenial checks that lastDenial returns the retry instant of the newest denial for the
// takes to which the denial applies.
func TestLastDenial(t *testing.T) {
	const now = 1000 * sec
	r := mustRule(t, fixed, limiter.Limit{Events: 9, Window: time.Minute})
	other := mustRule(t, fixed, limiter.Limit{Events: 8, Window: time.Minute})
	a := newAccount()
	if got := a.lastDenial(r, 5); got != 0 {
		t.Errorf("last denial before any request = %d, want 0", got)
	}
	a.request(r, now, 5, 0, new(limiter.LeaseRequest))
	l := &limiter.LeaseRequest{Rule: r, Need: 5, Decision: limiter.Decision{At: 50 * sec, RetryAt: 90 * sec}}
	a.applyReply(r, now, now, l, 0, false)
	for _, test := range []struct {
		rule *limiter.Rule
		cost int64
		want instant
	}{{r, 4, 0}, {r, 5, now + 40*sec}, {r, 6, now + 40*sec}, {other, 5, 0}} {
		if got := a.lastDenial(test.rule, test.cost); got != test.want {
			t.Errorf("last denial for %d of %d events = %d, want %d", test.cost, test.rule.Capacity(), got, test.want)
		}
	}
}

// TestHugeDenialIsNotRemembered denies a cost that is too large for an account to remember. The
// store decides each such take.
func TestHugeDenialIsNotRemembered(t *testing.T) {
	const now = 1000 * sec
	r := mustRule(t, fixed, limiter.Limit{Events: limiter.MaxEvents, Window: time.Minute})
	a, l := newAccount(), new(limiter.LeaseRequest)
	a.request(r, now, math.MaxUint32+1, 0, l)
	l.Decision = limiter.Decision{At: now, RetryAt: now + sec}
	a.applyReply(r, now, now, l, 0, false)
	if a.denies(r, now, math.MaxInt64) {
		t.Error("a denial of 2^32 events is remembered, want no memory of it: the cost does not fit")
	}
}

// TestDenialWithReturnsPending checks that a denial is remembered, unless this node had events to
// return.
func TestDenialWithReturnsPending(t *testing.T) {
	const now = 1000 * sec
	r := mustRule(t, fixed, limiter.Limit{Events: 10, Window: time.Minute})
	for _, unreturned := range []bool{false, true} {
		a, l := newAccount(), new(limiter.LeaseRequest)
		a.request(r, now, 1, 0, l)
		l.Decision = limiter.Decision{At: now, RetryAt: now + sec}
		a.applyReply(r, now, now, l, 0, unreturned)
		if got := a.denies(r, now, 1); got == unreturned {
			t.Errorf("unreturned %v: denies = %v, want %v", unreturned, got, !unreturned)
		}
	}
}

// TestJitterDelaysOnlyTheQuestion tells clients the store's retry instant, whatever the jitter.
// Once that has passed, it tells them the instant from which takes ask the store again. It never
// tells them an instant that has passed.
func TestJitterDelaysOnlyTheQuestion(t *testing.T) {
	const now = 1000 * sec
	r := mustRule(t, bucket, limiter.Limit{Events: 100, Window: time.Minute})
	a, l := newAccount(), new(limiter.LeaseRequest)
	a.request(r, now, 1, 0, l)
	l.Decision = limiter.Decision{At: now, RetryAt: now + 600*ms}
	a.applyReply(r, now, now, l, 4*ms, false)
	for _, test := range []struct {
		at    instant
		cost  int64
		retry limiter.Instant
	}{
		{now, 1, now + 600*ms},
		{now, 3, now + 1800*ms},
		{now + 599*ms, 1, now + 600*ms},
		{now + 600*ms, 1, now + 604*ms},
		{now + 603*ms, 1, now + 604*ms},
	} {
		var d limiter.Decision
		if a.take(r, test.at, test.cost, &d); d.Source != limiter.FromRememberedDenial || d.RetryAt != test.retry {
			t.Errorf("take of %d after %d µs = %+v, want a remembered denial until %d", test.cost, test.at-now, d, test.retry)
		}
	}
	var d limiter.Decision
	if a.take(r, now+604*ms, 1, &d) {
		t.Errorf("take after the jitter = %+v, want the store to decide", d)
	}
}
