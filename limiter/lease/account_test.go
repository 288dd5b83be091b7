package lease

import (
	"math"
	"testing"
	"time"
	"unsafe"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/limiter/leasetest"
)

// Accounts are played in testdata/leases and by TestLeaseModel; here is what those do not come by.

// TestAccountSize pins what a node with a million accounts rests on, in bytes: a balance with a key of 16 bytes, and as many that
// say whose it is, is 96, which never lie in more than two cache lines when one follows the other. Dealings are a cache line.
func TestAccountSize(t *testing.T) {
	if got, most := unsafe.Sizeof(hot{}), uintptr(64); got > most {
		t.Errorf("bytes of a balance = %d, want at most %d", got, most)
	}
	if got, most := unsafe.Sizeof(cold{}), uintptr(64); got > most {
		t.Errorf("bytes of dealings = %d, want at most %d", got, most)
	}
}

// TestTakeFromLease has takes decided where there is nothing but the balance: what they never wait for.
func TestTakeFromLease(t *testing.T) {
	const now, at = 1000 * sec, 6000 * sec
	for _, algorithm := range []limiter.Algorithm{bucket, fixed, sliding(4), slidingWindowLog} {
		r := mustRule(t, algorithm, limiter.Limit{Events: 1000, Window: time.Minute})
		a := accountAfter(r, now, at, 40, 60)
		a.cold = nil
		for i := range int64(60) {
			var d limiter.Decision
			if at := limiter.Instant(now + i*ms); !takeWith(a, r, at, 1, 2, &d) || d.Source != limiter.FromLease || a.needsRefill(r, at) && i < 30 {
				t.Fatalf("%v: take %d = %+v, low %v, want a lease that is not low before half of it is spent", algorithm, i, d, a.needsRefill(r, at))
			}
		}
	}
}

// accountAfter returns an account at now, under r, to which a store has answered a take of cost events and lent some, at the instant at
// of its clock.
func accountAfter(r *limiter.Rule, now, at limiter.Instant, cost, lent int64) account {
	a, l := newAccount(), new(limiter.LeaseRequest)
	a.request(r, now, cost, 0, l)
	l.Incarnation, l.Served, l.Granted, l.Expires = 1, cost, lent, at+5*sec
	l.Decision = limiter.Decision{OK: true, At: at, Limit: r.Capacity(), Remaining: r.Capacity() - cost - lent}
	a.applyReply(r, now, now, l, 0, false)
	a.served(cost)
	return a
}

func TestPeekAccount(t *testing.T) {
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

func TestUnder(t *testing.T) {
	nine := mustRule(t, fixed, limiter.Limit{Events: 9, Window: time.Minute})
	twelve := mustRule(t, fixed, limiter.Limit{Events: 12, Window: time.Minute})
	const now = 1000 * sec
	var (
		a    = newAccount()
		d    limiter.Decision
		loan limiter.LeaseRequest
	)
	for _, step := range []struct {
		what         string
		do           func()
		nine, twelve bool
	}{
		{"nothing", func() {}, false, false},
		{"take under nine", func() { takeWith(a, nine, now, 1, 0, &d) }, true, false},
		{"ask under twelve", func() { a.request(twelve, now, 1, 0, &loan) }, false, true},
	} {
		step.do()
		if a.appliesTo(nine) != step.nine || a.appliesTo(twelve) != step.twelve {
			t.Errorf("after %s: under nine a minute %v, under twelve %v, want %v and %v",
				step.what, a.appliesTo(nine), a.appliesTo(twelve), step.nine, step.twelve)
		}
	}
}

// TestDenialOfHugeCost is about costs beyond those that are remembered: they are asked for each time.
func TestDenialOfHugeCost(t *testing.T) {
	const now = 1000 * sec
	r := mustRule(t, fixed, limiter.Limit{Events: limiter.MaxEvents, Window: time.Minute})
	a, l := newAccount(), new(limiter.LeaseRequest)
	a.request(r, now, math.MaxUint32+1, 0, l)
	l.Decision = limiter.Decision{At: now, RetryAt: now + sec}
	a.applyReply(r, now, now, l, 0, false)
	if a.denies(now, math.MaxInt64) {
		t.Error("a denial of 2^32 events is remembered, want it not to be, as it would be for other costs")
	}
}

// TestHugeLots lends far more than a node ever asks for: of each lot, and of two that become one, as much counts as fits.
func TestHugeLots(t *testing.T) {
	const now, at = 1000 * sec, 6000 * sec
	r := mustRule(t, fixed, limiter.Limit{Events: limiter.MaxEvents, Window: time.Minute})
	a := accountAfter(r, now, at, 1, math.MaxUint32+10)
	if got, _ := a.outstanding(); got != math.MaxUint32 {
		t.Errorf("leased of a lot of 2^32 + 9 events = %d, want 2^32 - 1", got)
	}
	for i := range limiter.Instant(2) {
		at := at + i + 1
		a.request(r, now, 0, 0, new(limiter.LeaseRequest))
		a.applyReply(r, now, now, &limiter.LeaseRequest{Rule: r, Incarnation: 1, Granted: 7, Expires: at + 5*sec, Decision: limiter.Decision{OK: true, At: at}}, 0, false)
	}
	if got, _ := a.outstanding(); got != math.MaxUint32+7 {
		t.Errorf("leased after two more lots of 7 = %d, want 2^32 - 1 and the last of them", got)
	}
}

func TestForgottenDenial(t *testing.T) {
	const now = 1000 * sec
	r := mustRule(t, fixed, limiter.Limit{Events: 10, Window: time.Minute})
	for _, forget := range []bool{false, true} {
		a, l := newAccount(), new(limiter.LeaseRequest)
		a.request(r, now, 1, 0, l)
		l.Decision = limiter.Decision{At: now, RetryAt: now + sec}
		a.applyReply(r, now, now, l, 0, forget)
		if got := a.denies(now, 1); got == forget {
			t.Errorf("forget %v: denies = %v, want %v", forget, got, !forget)
		}
	}
}

// TestJitterDelaysRetry holds for what clients are told as well.
func TestJitterDelaysRetry(t *testing.T) {
	const now = 1000 * sec
	r := mustRule(t, bucket, limiter.Limit{Events: 100, Window: time.Minute})
	a, l := newAccount(), new(limiter.LeaseRequest)
	a.request(r, now, 1, 0, l)
	l.Decision = limiter.Decision{At: now, RetryAt: now + 600*ms}
	a.applyReply(r, now, now, l, 7*ms, false)
	var d limiter.Decision
	if takeWith(a, r, now+606*ms, 1, 0, &d); d.Source != limiter.FromRememberedDenial || d.RetryAt != now+607*ms {
		t.Errorf("take before the jitter has passed = %+v, want a remembered denial until %d", d, now+607*ms)
	}
	if takeWith(a, r, now+607*ms, 1, 0, &d) {
		t.Errorf("take when it has passed = %+v, want the store to be asked", d)
	}
}

// TestUndone is about what was served and goes back, as a take is denied by another limit: it remains, as before.
func TestUndone(t *testing.T) {
	const now = 1000 * sec
	r := mustRule(t, fixed, limiter.Limit{Events: 100, Window: time.Minute})
	a := accountAfter(r, now, now, 30, 0)
	a.cancelServed(30)
	var d limiter.Decision
	if a.peek(r, now, 1, &d); d.Remaining != 100 {
		t.Errorf("remaining after what was served is undone = %d, want 100", d.Remaining)
	}
}

// TestLowAsksOnce is about a lease that runs low: one request at a time goes to the store.
func TestLowAsksOnce(t *testing.T) {
	const now = 1000 * sec
	r := mustRule(t, fixed, limiter.Limit{Events: 100, Window: time.Minute})
	a := accountAfter(r, now, now, 5, 1)
	if takeWith(a, r, now, 1, 0, new(limiter.Decision)); !a.needsRefill(r, now) {
		t.Error("low after the last event of a lease = false, want true")
	}
	if a.request(r, now, 0, 0, new(limiter.LeaseRequest)); a.needsRefill(r, now) {
		t.Error("low while the store is asked = true, want false")
	}
	if a.requesting = false; !a.needsRefill(r, now) {
		t.Error("low after it has not answered = false, want true")
	}
}

func TestRetire(t *testing.T) {
	const now = 1000 * sec
	r := mustRule(t, fixed, limiter.Limit{Events: 100, Window: time.Minute})
	a := accountAfter(r, now, now, 1, 9)
	var d limiter.Decision
	if leased, _ := a.outstanding(); leased != 9 {
		t.Errorf("leased = %d, want 9", leased)
	}
	a.retire()
	if takeWith(a, r, now, 1, 0, &d) {
		t.Errorf("take of a retired account = %+v, want none", d)
	}
	var l limiter.LeaseRequest
	if a.request(r, now, 0, 0, &l); l.Returns[0].N != 9 || a.held() != 0 {
		t.Errorf("goes back = %v, still held %d, want 9 and 0", l.Returns, a.held())
	}
}

func TestIdle(t *testing.T) {
	const now, idleFor = 1000 * sec, 30 * sec
	r, err := limiter.NewRule(limiter.Rule{Algorithm: fixed, Limit: limiter.Limit{Events: 100, Window: time.Minute}, MaxOvershoot: 1})
	if err != nil {
		t.Fatal(err)
	}
	used := func(lent int64) account { return accountAfter(r, now, now, 1, lent) }
	asking, owing, borrower, denied := used(0), newAccount(), used(0), used(0)
	asking.request(r, now, 0, 0, new(limiter.LeaseRequest))
	takeWith(owing, r, now, 1, 1, new(limiter.Decision))
	borrower.creditTotal = now / ms * (limiter.MaxCredit + 1)
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
		{"asking", asking, 40 * sec, false},
		{"owing", owing, 70 * sec, false},
		{"with credit in this window", borrower, 50 * sec, false},
		{"with credit in another", borrower, 61 * sec, true},
		{"denied a moment ago", denied, 30*sec + 5000, false},
	} {
		if got := test.idle(r, now+limiter.Instant(test.after), idleFor); got != test.want {
			t.Errorf("idle, %s = %v, want %v", test.name, got, test.want)
		}
	}
}

// TestRemainingAccrues asks about a bucket far more often than events accrue, from a lease and from the store: in a second, as many
// more remain as its rate says.
func TestRemainingAccrues(t *testing.T) {
	const now = 1000 * sec
	r := mustRule(t, bucket, limiter.Limit{Events: 100, Window: time.Second, Burst: 1000})
	a := accountAfter(r, now, now, 500, 0)
	for i := range int64(334) {
		at := limiter.Instant(now + 3*ms*i)
		a.request(r, at, 0, 0, new(limiter.LeaseRequest))
		a.applyReply(r, at, at, &limiter.LeaseRequest{Rule: r, Incarnation: 1, Decision: limiter.Decision{OK: true, At: at, Remaining: 700}}, 0, false)
	}
	var d limiter.Decision
	if a.peek(r, now+sec, 1, &d); d.Remaining != 600 {
		t.Errorf("remaining after a second = %d, want 600", d.Remaining)
	}
}

// TestDebtIsNotNumberedTwice is about an account that is forgotten and made again, when the store still knows what the first has
// owed: what the second owes is not taken for that.
func TestDebtIsNotNumberedTwice(t *testing.T) {
	r, err := limiter.NewRule(limiter.Rule{Algorithm: fixed, Limit: limiter.Limit{Events: 100, Window: time.Minute}, MaxOvershoot: 1})
	if err != nil {
		t.Fatal(err)
	}
	g := leasetest.NewLedger(fixed)
	for i, now := range []limiter.Instant{1020 * sec, 1021 * sec, 1022 * sec} {
		a := newAccount()
		var l limiter.LeaseRequest
		takeWith(a, r, now, 5, 2, new(limiter.Decision))
		a.request(r, now, 0, 0, &l)
		l.Want = 0
		requests := []limiter.LeaseRequest{l}
		leasetest.Lend(1, 1, now, []*leasetest.Ledger{g}, requests)
		if got, want := 100-requests[0].Decision.Remaining, int64(5*(i+1)); got != want {
			t.Errorf("consumed after account %d = %d, want %d", i+1, got, want)
		}
	}
}

// TestDenialsFollowEachOther denies until a lease ends, and then again: each is remembered for as long as the store says, and clients
// are told that.
func TestDenialsFollowEachOther(t *testing.T) {
	r := mustRule(t, fixed, limiter.Limit{Events: 10, Window: time.Hour})
	a, now := newAccount(), testStart
	for _, lasts := range []limiter.Instant{400 * ms, 30 * ms, 900 * ms} {
		var l limiter.LeaseRequest
		a.request(r, now, 1, 0, &l)
		l.Decision = limiter.Decision{At: now + 3*sec, RetryAt: now + 3*sec + lasts} // by the store's clock
		a.applyReply(r, now, now, &l, 0, false)
		var d limiter.Decision
		if !takeWith(a, r, now+lasts-1, 1, 0, &d) || d.OK || d.RetryAt != now+lasts {
			t.Errorf("take before a denial of %d µs has passed = %+v, want one remembered until %d", lasts, d, now+lasts)
		}
		if now += lasts; takeWith(a, r, now, 1, 0, &d) {
			t.Errorf("take when a denial of %d µs has passed = %+v, want the store to be asked", lasts, d)
		}
	}
}
