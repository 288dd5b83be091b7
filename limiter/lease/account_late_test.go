package lease

import (
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// TestTakeLate decides takes by what is known: of an account that knows nothing, that was answered a while ago, and that was denied.
func TestTakeLate(t *testing.T) {
	const now, at = 1000 * sec, 6000 * sec // at a whole minute
	for _, algorithm := range []limiter.Algorithm{bucket, fixed, sliding(4), slidingWindowLog} {
		r := mustRule(t, algorithm, limiter.Limit{Events: 60, Window: time.Minute})
		late := func(a account, what string, at limiter.Instant, cost int64, ok bool, left int64) (d limiter.Decision) {
			t.Helper()
			if a.takeLate(r, at, cost, &d); d.OK != ok || d.Remaining != left || d.Source != limiter.FromKnownState || d.Limit != 60 || d.At != at {
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
		if a.idle(r, now+90*sec, 1) || !a.idle(r, now+200*sec, 1) {
			t.Errorf("%v: idle %v and %v, want it kept for a window", algorithm, a.idle(r, now+90*sec, 1), a.idle(r, now+200*sec, 1))
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
		denied := &limiter.LeaseRequest{Rule: r, Incarnation: 1, Need: 2, Decision: limiter.Decision{At: at, Limit: 60, RetryAt: at + 3*sec, ResetAt: at + 60*sec}}
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

// TestStrictDenial repeats a denial for as long as the store is certain to, and tells larger takes to wait for longer.
func TestStrictDenial(t *testing.T) {
	const asked, now, at = 1000 * sec, 1000*sec + 20*ms, 6000 * sec
	for _, test := range []struct {
		algorithm  limiter.Algorithm
		wait, more limiter.Instant // of a take of one, and of two
		until      limiter.Instant // remembered
	}{
		{bucket, 500 * ms, 500*ms + sec, asked + 500*ms},
		{fixed, 40 * sec, 40 * sec, now + sec},
		{slidingWindowLog, 500 * ms, 40 * sec, asked + 500*ms},
	} {
		r := mustRule(t, test.algorithm, limiter.Limit{Events: 60, Window: time.Minute})
		strict := *r
		strict.Strict = true
		r, err := limiter.NewRule(strict)
		if err != nil {
			t.Fatal(err)
		}
		a := newAccount()
		a.request(r, asked, 1, 0, new(limiter.LeaseRequest))
		a.applyReply(r, asked, now, &limiter.LeaseRequest{Rule: r, Incarnation: 1, Need: 1, Decision: limiter.Decision{
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
				} else if !takeWith(a, r, now, take.cost, 0, &d) {
					t.Fatalf("%v: a take of %d is not decided", test.algorithm, take.cost)
				}
				if reset := limiter.Instant(now + 40*sec); d.OK || d.RetryAt != take.retry || d.ResetAt < reset || d.ResetAt > reset+ms {
					t.Errorf("%v: take of %d: %+v, want a denial until %d, reset at %d", test.algorithm, take.cost, d, take.retry, reset)
				}
			}
		}
		if !a.denies(test.until-ms, 1) || a.denies(test.until, 1) {
			t.Errorf("%v: denies before %d and then = %v and %v, want true and false", test.algorithm, test.until,
				a.denies(test.until-ms, 1), a.denies(test.until, 1))
		}
		a.refunded(1)
		if a.denies(now, 1) {
			t.Errorf("%v: denies after a refund, want it forgotten", test.algorithm)
		}
		if other := mustRule(t, test.algorithm, limiter.Limit{Events: 60, Window: time.Minute}); a.appliesTo(other) {
			t.Errorf("%v: an account under a strict rule is under the other one, too", test.algorithm)
		}
	}
}

// TestBreachOncePerWindow marks the first denial in a window, though others come all the time.
func TestBreachOncePerWindow(t *testing.T) {
	const now = 1000 * sec
	r, a := mustRule(t, fixed, limiter.Limit{Events: 9, Window: time.Minute}), newAccount()
	for at := limiter.Instant(0); at < 200*sec; at += 2 * sec {
		l := &limiter.LeaseRequest{Rule: r, Need: 1, Incarnation: 1, Decision: limiter.Decision{At: now + at, RetryAt: now + at + sec}}
		a.request(r, now+at, 1, 0, new(limiter.LeaseRequest))
		a.applyReply(r, now+at, now+at, l, 0, false)
		if want := at%(60*sec) == 0; l.Decision.Breach != want {
			t.Errorf("denial after %d s: breach = %v, want %v", at/sec, l.Decision.Breach, want)
		}
	}
}
