package lease

import (
	"slices"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// TestTakeBack undoes a take of three events. The events go back to their lease. If the account no
// longer holds that lease, they are returned to the store or lost.
func TestTakeBack(t *testing.T) {
	const now, at, next = 1000 * sec, 6000 * sec, 6002 * sec
	r := mustRule(t, fixed, limiter.Limit{Events: 1000, Window: time.Hour})
	grant := func(a account, events, served int64, incarnation uint64) {
		l := &limiter.LeaseRequest{Rule: r, Incarnation: incarnation, Granted: events, Served: served, Expires: next + 5*sec}
		l.Decision = limiter.Decision{OK: true, At: next, Limit: r.Capacity(), Remaining: 500}
		a.applyReply(r, now, now, l, 0, false)
	}
	for _, test := range []struct {
		name     string
		meantime func(a account)
		left     [2]int32 // what the leases hold afterwards
		returns  int64
		lost     int64
	}{
		{"nothing has happened", func(account) {}, [2]int32{10, 0}, 0, 0},
		{"a second lease has come", func(a account) {
			a.request(r, now, 0, 0, new(limiter.LeaseRequest))
			grant(a, 20, 0, 1)
		}, [2]int32{10, 20}, 0, 0},
		{"it was spent, and a second one has come", func(a account) {
			a.take(r, now, 7, new(limiter.Decision))
			a.request(r, now, 0, 0, new(limiter.LeaseRequest))
			grant(a, 20, 0, 1)
		}, [2]int32{20, 0}, 3, 0},
		{"it was returned for a take", func(a account) {
			a.request(r, now, 30, 0, new(limiter.LeaseRequest))
		}, [2]int32{3, 0}, 0, 0},
		{"it was returned for a take, which brought another lease", func(a account) {
			a.request(r, now, 30, 0, new(limiter.LeaseRequest))
			grant(a, 20, 30, 1)
		}, [2]int32{20, 0}, 3, 0},
		{"another incarnation of the store has replied", func(a account) {
			a.request(r, now, 0, 0, new(limiter.LeaseRequest))
			grant(a, 20, 0, 2)
		}, [2]int32{7, 20}, 0, 3},
	} {
		a := accountAfter(r, now, at, 1, 10)
		left := a.remaining
		a.take(r, now, 3, new(limiter.Decision))
		s := a.spentSince(left, 0)
		test.meantime(a)
		shown := a.shown
		returns, lost := a.takeBack(r, now, s, 0)
		if a.remaining != test.left || lost != test.lost {
			t.Errorf("%s: left %d, lost %d, want %d and %d", test.name, a.remaining, lost, test.left, test.lost)
		}
		var want []granted
		if test.returns > 0 {
			want = []granted{{limiter.Events{At: at, N: test.returns}, 1, 0}}
		}
		if !slices.Equal(returns.returns, want) {
			t.Errorf("%s: returns %+v, want %d of %d", test.name, returns, test.returns, at)
		}
		if want := 3 - test.lost; a.shown-shown != want {
			t.Errorf("%s: shown = %d more, want %d", test.name, a.shown-shown, want)
		}
	}
}

// TestTakeBackHoldsTwoLeases undoes a take from two leases while a third lease is requested. The
// events of the first lease, which is spent, are returned to the store, so that the account never
// holds three leases.
func TestTakeBackHoldsTwoLeases(t *testing.T) {
	const now = 1000 * sec
	r := mustRule(t, fixed, limiter.Limit{Events: 1000, Window: time.Hour})
	a := newAccount()
	a.take(r, now, 1, new(limiter.Decision))
	a.incarnation = 1
	a.rebase(now)
	a.remaining, a.grantedAt, a.expires = [2]int32{2, 5}, [2]limiter.Instant{70, 80}, [2]uint32{1000, 2000}
	left := a.remaining
	a.take(r, now, 3, new(limiter.Decision))
	s := a.spentSince(left, 0)
	if want := [2]limiter.Events{{At: 70, N: 2}, {At: 80, N: 1}}; s.leases != want {
		t.Fatalf("spent = %+v, want %+v", s.leases, want)
	}
	a.requesting = true
	if returns, _ := a.takeBack(r, now, s, 0); !slices.Equal(returns.returns, []granted{{limiter.Events{At: 70, N: 2}, 1, 0}}) || a.remaining != [2]int32{0, 5} {
		t.Errorf("returns %+v and has %d left, want 2 of 70, and 5 of the second", returns, a.remaining)
	}
	a.requesting = false
	returns, _ := a.takeBack(r, now, spent{leases: [2]limiter.Events{{At: 70, N: 2}}, incarnation: 1}, 0)
	if returns.any() || a.remaining != [2]int32{2, 5} {
		t.Errorf("returns %+v and has %d left without a request under way, want 2 and 5 left", returns, a.remaining)
	}
}

// ret returns the return of n events of a window's lease.
func ret(at limiter.Instant, n int64) limiter.Return {
	return limiter.Return{Events: limiter.Events{At: at, N: n}}
}

// TestAddReturn adds returns to a request, which has room for those of two leases.
func TestAddReturn(t *testing.T) {
	var l limiter.LeaseRequest
	for _, step := range []struct {
		add  limiter.Events
		ok   bool
		want [2]limiter.Return
	}{
		{limiter.Events{At: 1, N: 5}, true, [2]limiter.Return{ret(1, 5)}},
		{limiter.Events{At: 2, N: 6}, true, [2]limiter.Return{ret(1, 5), ret(2, 6)}},
		{limiter.Events{At: 3, N: 7}, false, [2]limiter.Return{ret(1, 5), ret(2, 6)}},
		{limiter.Events{At: 2, N: 1}, true, [2]limiter.Return{ret(1, 5), ret(2, 7)}},
	} {
		if ok := addReturn(&l, step.add); ok != step.ok || l.Returns != step.want {
			t.Errorf("return of %+v = %v, with %+v, want %v, with %+v", step.add, ok, l.Returns, step.ok, step.want)
		}
	}
}

// TestRetire makes all leases expire, so that they are returned and not spent.
func TestRetire(t *testing.T) {
	const now = 1000 * sec
	r := mustRule(t, fixed, limiter.Limit{Events: 100, Window: time.Minute})
	a := accountAfter(r, now, now, 1, 9)
	var d limiter.Decision
	if leased := a.held(); leased != 9 {
		t.Errorf("leased = %d, want 9", leased)
	}
	a.retire()
	if a.take(r, now, 1, &d) {
		t.Errorf("take from retired leases = %+v, want none", d)
	}
	var l limiter.LeaseRequest
	if a.request(r, now, 0, 0, &l); l.Returns[0].N != 9 || a.held() != 0 {
		t.Errorf("returns = %v, still held %d, want 9 and 0", l.Returns, a.held())
	}
}

// TestLeaseOfOldPrimaryIsNotReturned has another incarnation of the store reply. The lease may
// still be spent. When it expires, the account does not know a name under which that incarnation
// would take it back.
func TestLeaseOfOldPrimaryIsNotReturned(t *testing.T) {
	const now = 1000 * sec
	r := mustRule(t, fixed, limiter.Limit{Events: 1000, Window: time.Minute})
	a := newAccount()
	for i, reply := range []limiter.LeaseRequest{
		{Incarnation: 7, Granted: 50, Expires: now + 3*sec},
		{Incarnation: 8},
	} {
		var l limiter.LeaseRequest
		a.request(r, now, 0, 0, &l)
		reply.Decision = limiter.Decision{OK: true, At: limiter.Instant(now + i), Remaining: 900}
		a.applyReply(r, now, now, &reply, 0, false)
	}
	if got := a.leased(r, now); got != 50 {
		t.Errorf("events to be spent = %d, want the 50 of the old primary", got)
	}
	var l limiter.LeaseRequest
	a.request(r, now+4*sec, 0, 0, &l)
	if want := ret(0, 50); l.Incarnation != 8 || l.Returns[0] != want {
		t.Errorf("request to incarnation %d returns %+v, want %+v to 8: without an instant", l.Incarnation, l.Returns[0], want)
	}
}

// TestLeaseEndsByTheStoresClock has the clock of a node be 400 ppm slower than the store's, because
// each clock may be wrong by 200 ppm. When a window is over, the node spends nothing more of its
// leases, although it measures less time.
func TestLeaseEndsByTheStoresClock(t *testing.T) {
	const now, at = 1000 * sec, 6000 * sec // the lease ends 5 s later
	for _, algorithm := range []limiter.Algorithm{fixed, sliding(1), sliding(5)} {
		r := mustRule(t, algorithm, limiter.Limit{Events: 1000, Window: time.Hour})
		a := accountAfter(r, now, at, 1, 10)
		for _, step := range []struct{ after, want int64 }{{4_900_000, 10}, {4_998_000, 0}, {5_000_000, 0}} {
			if got := a.leased(r, instant(now).plus(step.after)); got != step.want {
				t.Errorf("%v: leased %d µs after the grant = %d, want %d", algorithm, step.after, got, step.want)
			}
		}
	}
}
