package lease

import (
	"testing"
	"time"
	"unsafe"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// TestAccountSize pins the bytes of an account. A hot half, with a key of 16 bytes and 16 more
// bytes of its entry, is 128 bytes, which are two cache lines. A cold half is 112 bytes, of which
// 36 say when the events of a part were spent.
func TestAccountSize(t *testing.T) {
	if got, most := unsafe.Sizeof(hot{}), uintptr(96); got > most {
		t.Errorf("bytes of a hot half = %d, want at most %d", got, most)
	}
	if got, most := unsafe.Sizeof(cold{}), uintptr(120); got > most {
		t.Errorf("bytes of a cold half = %d, want at most %d", got, most)
	}
}

// TestTakeNeedsHotHalfOnly decides takes from a lease without the cold half.
func TestTakeNeedsHotHalfOnly(t *testing.T) {
	const now, at = 1000 * sec, 6000 * sec
	for _, algorithm := range []limiter.Algorithm{bucket, fixed, sliding(4), slidingWindowLog} {
		r := mustRule(t, algorithm, limiter.Limit{Events: 1000, Window: time.Minute})
		a := accountAfter(r, now, at, 40, 60)
		a.cold = nil
		for i := range int64(60) {
			var d limiter.Decision
			if at := instant(now + i*ms); !a.take(r, at, 1, &d) || d.Source != limiter.FromLease || a.needsRefill(r, at, 2*ms) && i < 30 {
				t.Fatalf("%v: take %d = %+v, needs a refill %v, want none before half of the lease is spent", algorithm, i, d, a.needsRefill(r, at, 2*ms))
			}
		}
	}
}

// TestAppliesTo checks that an account applies to the limit that it was last used under.
func TestAppliesTo(t *testing.T) {
	nine := mustRule(t, fixed, limiter.Limit{Events: 9, Window: time.Minute})
	twelve := mustRule(t, fixed, limiter.Limit{Events: 12, Window: time.Minute})
	const now = 1000 * sec
	var (
		a = newAccount()
		d limiter.Decision
		l limiter.LeaseRequest
	)
	for _, step := range []struct {
		what         string
		do           func()
		nine, twelve bool
	}{
		{"nothing", func() {}, false, false},
		{"take under nine", func() { a.take(nine, now, 1, &d) }, true, false},
		{"request under twelve", func() { a.request(twelve, now, 1, 0, &l) }, false, true},
	} {
		step.do()
		if a.appliesTo(nine) != step.nine || a.appliesTo(twelve) != step.twelve {
			t.Errorf("after %s: under nine a minute %v, under twelve %v, want %v and %v",
				step.what, a.appliesTo(nine), a.appliesTo(twelve), step.nine, step.twelve)
		}
	}
}

// TestIdle checks that an account is not idle while it holds a lease, has debt, has a request under
// way or remembers a denial.
func TestIdle(t *testing.T) {
	const now, idleFor = 1000 * sec, 30 * sec
	r, err := limiter.NewRule(limiter.Rule{Algorithm: fixed, Limit: limiter.Limit{Events: 100, Window: time.Minute}})
	if err != nil {
		t.Fatal(err)
	}
	used := func(granted int64) account { return accountAfter(r, now, now, 1, granted) }
	requesting, inDebt, denied := used(0), used(0), used(0)
	requesting.request(r, now, 0, 0, new(limiter.LeaseRequest))
	inDebt.addDebt(r, now, 1)
	denied.deny(now+30*sec, now+30*sec, &limiter.LeaseRequest{Rule: r, Need: 1, Decision: limiter.Decision{At: now, RetryAt: now + 60*sec}}, 0)
	for _, test := range []struct {
		name string
		account
		after int64
		want  bool
	}{
		{"just used", used(0), 30 * sec, false},
		{"not used for long", used(0), 30*sec + 1000, true},
		{"holding a lease", used(1), 40 * sec, false},
		{"requesting", requesting, 40 * sec, false},
		{"in debt", inDebt, 70 * sec, false},
		{"denied recently", denied, 30*sec + 5000, false},
	} {
		if got := test.idle(r, instant(now+test.after), idleFor, 1); got != test.want {
			t.Errorf("idle, %s = %v, want %v", test.name, got, test.want)
		}
	}
}

// TestAccountUnusedForYears looks at accounts that were not used for years. Their leases are not
// spent, their denials are not remembered, and they are idle.
func TestAccountUnusedForYears(t *testing.T) {
	for _, window := range longWindows {
		for _, days := range longTimes {
			now := instant(testStart + days*day)
			r := mustRule(t, bucket, limiter.Limit{Events: 1000, Window: window})
			leased, denied := accountAfter(r, testStart, testStart, 40, 60), accountAfter(r, testStart, testStart, 1000, 0)
			denied.deny(testStart, testStart, &limiter.LeaseRequest{Rule: r, Need: 1, Decision: limiter.Decision{
				At: testStart, RetryAt: testStart + limiter.Instant(r.Limit.Window.Microseconds())}}, 0)
			var d limiter.Decision
			if leased.take(r, now, 1, &d) {
				t.Errorf("window %v: take from a lease of %d days ago = %+v, want none", window, days, d)
			}
			if dropped, held := leased.dropPassed(r, now), leased.held(); dropped != 60 || held != 0 {
				t.Errorf("window %v: %d dropped after %d days, %d held, want 60 and none", window, dropped, days, held)
			}
			if expired, next := leased.nextReturn(r, now); expired || next != 0 {
				t.Errorf("window %v: expired after %d days = %v, next return at %d, want false and 0", window, days, expired, next)
			}
			if denied.denies(r, now, 1) || !denied.idle(r, now, 0, 1) {
				t.Errorf("window %v: after %d days denies %v, idle %v, want false and true", window, days, denied.denies(r, now, 1),
					denied.idle(r, now, 0, 1))
			}
		}
	}
}
