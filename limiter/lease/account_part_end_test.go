package lease

import (
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// TestPartsThatGo drops parts that another incarnation of the store does not know. It returns parts
// of another limit at once, without what they have accrued. It keeps parts of a count that was
// reset.
func TestPartsThatGo(t *testing.T) {
	r, other := bucketRule(t), mustRule(t, bucket, limiter.Limit{Events: 3000, Window: time.Minute})
	const now = arrived + sec
	at := limiter.Events{At: partAt, N: 8}
	nothing, part := [2]limiter.Return{}, [2]limiter.Return{1: {Events: at, Share: 2048}}
	ofOther := [2]limiter.Return{{Events: at}, {Events: limiter.Events{At: partAt}, Spent: limiter.MaxEvents, Share: 2048}}
	for _, test := range []struct {
		what            string
		do              func(a account)
		under           *limiter.Rule
		leased          int64
		expired         bool
		returns         [2]limiter.Return
		nothingIsLeased bool
	}{
		{"nothing", func(account) {}, r, 57, false, nothing, false},
		{"another incarnation", func(a account) {
			l := partReply(r, 0, 0, 100)
			l.Incarnation = 8
			a.applyReply(r, now, now, l, 0, false)
		}, r, 0, false, nothing, true},
		{"an unknown incarnation", func(a account) {
			l := partReply(r, 0, 0, 100)
			l.Incarnation = 0
			a.applyReply(r, now, now, l, 0, false)
		}, r, 0, false, nothing, true},
		{"another limit", func(a account) { a.switchLimit(other) }, other, 0, true, ofOther, false},
		{"another limit and back", func(a account) {
			a.switchLimit(other)
			a.switchLimit(r)
		}, r, 0, true, ofOther, false},
		{"another limit while a request is under way", func(a account) {
			a.request(r, now, 60, 0, new(limiter.LeaseRequest))
			a.switchLimit(other)
			a.applyReply(r, now, now, partReply(r, 8, 2048, 100), 0, false)
		}, other, 0, true, ofOther, false},
		{"retired", func(a account) { a.retire() }, r, 0, true, part, false},
		{"reset", func(a account) { a.drop(r, allButDebt) }, r, 57, false, nothing, false},
	} {
		a := withPart(r, 8, 2048, 100, 0)
		test.do(a)
		expired, _ := a.nextReturn(test.under, now)
		if got := a.leased(test.under, now); got != test.leased || expired != test.expired {
			t.Errorf("%s: leased = %d, expired = %v, want %d and %v", test.what, got, expired, test.leased, test.expired)
		}
		if got := a.held() == 0; got != test.nothingIsLeased {
			t.Errorf("%s: held = %d", test.what, a.held())
		}
		for _, refill := range []bool{false, true} {
			if refill && !test.expired {
				continue // the request would return the part because no take has come
			}
			a := withPart(r, 8, 2048, 100, 0)
			test.do(a)
			var l limiter.LeaseRequest
			if refill {
				a.requestRefill(test.under, now, 2*ms, &l)
			} else {
				a.request(test.under, now, 0, 0, &l)
			}
			if l.Returns != test.returns {
				t.Errorf("%s: a request (refill: %v) returns %+v, want %+v", test.what, refill, l.Returns, test.returns)
			}
		}
	}
}

// TestPartEnds drops a part that has ended, because nothing of it can be returned.
func TestPartEnds(t *testing.T) {
	r := bucketRule(t)
	const ended = arrived + 9993*ms
	a := withPart(r, 8, 2048, 100, 0)
	a.take(r, arrived, 3, new(limiter.Decision))
	if got := a.dropPassed(r, ended-1); got != 0 || !a.hasPart() {
		t.Errorf("dropped before the end = %d, want none", got)
	}
	if got := a.dropPassed(r, ended); got != 5 || a.held() != 0 || a.hasPart() {
		t.Errorf("dropped = %d, with %d held, want the 5 that are left", got, a.held())
	}
	a = withPart(r, 8, 2048, 100, 0)
	a.returnPart(new(limiter.LeaseRequest), 2)
	if got := a.dropPassed(r, ended); got != 2 || a.held() != 0 {
		t.Errorf("dropped of what was kept = %d, with %d held, want 2", got, a.held())
	}
}

// TestPartOfAnotherLimit returns a part of another limit. If the account also has events that it
// kept of an older part, these go back, and nothing of the newer part does.
func TestPartOfAnotherLimit(t *testing.T) {
	r, other := bucketRule(t), mustRule(t, bucket, limiter.Limit{Events: 3000, Window: time.Minute})
	for _, test := range []struct {
		what    string
		spend   int64
		keep    int64 // events that were kept of an older part
		returns [2]limiter.Return
	}{
		{"some is left", 3, 0, [2]limiter.Return{
			{Events: limiter.Events{At: partAt, N: 5}},
			{Events: limiter.Events{At: partAt, N: 3}, Spent: limiter.MaxEvents, Share: 2048},
		}},
		{"more is spent than there was at once", 20, 0, [2]limiter.Return{
			1: {Events: limiter.Events{At: partAt, N: 8}, Spent: limiter.MaxEvents, Share: 2048},
		}},
		{"some of an older part is left", 3, 4, [2]limiter.Return{
			{Events: limiter.Events{At: partAt, N: 4}, Spent: 3},
			{Events: limiter.Events{At: partAt + sec, N: 6}, Spent: limiter.MaxEvents, Share: 2048},
		}},
	} {
		a := withPart(r, 8, 2048, 100, 0)
		if test.keep > 0 {
			a.returnPart(new(limiter.LeaseRequest), test.keep)
			l := partReply(r, 6, 2048, 100)
			l.Decision.At, l.Expires, l.Incarnation = l.Decision.At+sec, l.Expires+sec, 7
			a.applyReply(r, partSent+sec, arrived+sec, l, 0, false)
		}
		a.take(r, arrived+sec, test.spend, new(limiter.Decision))
		a.switchLimit(other)
		var l limiter.LeaseRequest
		if a.request(other, arrived+sec, 1, 0, &l); l.Returns != test.returns {
			t.Errorf("%s: a request returns %+v, want %+v", test.what, l.Returns, test.returns)
		}
	}
}

// TestUndoOfPart undoes a take of three events. They go back to the part. If the store was told
// that they are spent, the store is to cancel them as of its newest reply.
func TestUndoOfPart(t *testing.T) {
	r := bucketRule(t)
	returnPart := func(keep int64) func(account) {
		return func(a account) { a.returnPart(new(limiter.LeaseRequest), keep) }
	}
	reply := func(a account, events int64, incarnation uint64) {
		l := partReply(r, events, 0, 100)
		l.Decision.At, l.Expires, l.Incarnation = l.Decision.At+sec, l.Expires+sec, incarnation
		a.applyReply(r, partSent+sec, arrived+sec, l, 0, false)
	}
	nothing := func(account) {}
	for _, test := range []struct {
		what             string
		before, meantime func(a account)
		after            int64 // µs from the arrival of the part to the undo
		left             [2]int32
		cancel           limiter.Events
		lost             int64
	}{
		{"nothing has happened", nothing, nothing, 0, [2]int32{0, 8}, limiter.Events{}, 0},
		{"all was returned", nothing, returnPart(0), 0, [2]int32{}, limiter.Events{At: partAt, N: 3}, 0},
		{"some was kept", nothing, returnPart(4), 0, [2]int32{4, 0}, limiter.Events{At: partAt, N: 3}, 0},
		{"another part has come", nothing, func(a account) {
			returnPart(4)(a)
			reply(a, 6, 7)
		}, sec, [2]int32{4, 6}, limiter.Events{At: partAt + sec, N: 3}, 0},
		{"it was spent of what is kept", returnPart(4), nothing, 0, [2]int32{4, 0}, limiter.Events{}, 0},
		{"it was spent of what was kept and is returned", returnPart(4), returnPart(0), 0,
			[2]int32{}, limiter.Events{At: partAt, N: 3}, 0},
		{"the part has ended", nothing, nothing, 9993 * ms, [2]int32{0, 5}, limiter.Events{At: partAt, N: 3}, 0},
		{"another incarnation has replied", nothing, func(a account) { reply(a, 0, 8) }, sec, [2]int32{}, limiter.Events{}, 3},
	} {
		a := withPart(r, 8, 0, 100, 0)
		test.before(a)
		before := a.remaining
		a.take(r, arrived, 3, new(limiter.Decision))
		s := a.spentSince(before, 0)
		test.meantime(a)
		returns, lost := a.takeBack(r, arrived+instant(test.after), s, 0)
		var cancel limiter.Events
		if len(returns.cancels) == 1 {
			cancel = returns.cancels[0].Events
		}
		if a.remaining != test.left || lost != test.lost || cancel != test.cancel {
			t.Errorf("%s: left %d, lost %d, canceled %+v; want %d, %d and %+v",
				test.what, a.remaining, lost, cancel, test.left, test.lost, test.cancel)
		}
	}
}

// TestKeptEventsDoNotHoldTheAccount removes an idle account whose last refill has brought no part.
// The account holds only events that it has kept of an older part.
func TestKeptEventsDoNotHoldTheAccount(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		r := n.rule(limiter.Rule{Limit: limiter.Limit{Events: 6000, Window: time.Minute}})
		n.allowed(r, "key", 1, limiter.FromStore)
		n.locationOf(r, "key").withAccount(func(a account) { a.returnPart(new(limiter.LeaseRequest), 2) })
		if got := n.leased(r, "key"); got != 2 {
			t.Errorf("leased = %d, want the 2 that are kept", got)
		}
		time.Sleep(5 * time.Minute) // a part lasts for 3 minutes
		n.checkAccounts(0)
	})
}

// TestResetBesidePart takes from a bucket of which the node gets a part. Clients are told when the
// events that they have taken are back, and not when the part ends.
func TestResetBesidePart(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		r := n.rule(limiter.Rule{Limit: limiter.Limit{Events: 100, Window: time.Minute}})
		d := n.allowed(r, "key", 1, limiter.FromStore)
		if n.leased(r, "key") == 0 {
			t.Fatal("nothing is leased")
		}
		if got := time.Duration(d.ResetAt-d.At) * time.Microsecond; got > time.Second {
			t.Errorf("reset after the first take in %v, want 600ms", got)
		}
	})
}
