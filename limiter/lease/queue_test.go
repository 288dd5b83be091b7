package lease

import (
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// TestQueueReturns returns the events of two leases per request. Events that another incarnation
// has granted are lost.
func TestQueueReturns(t *testing.T) {
	e := func(at limiter.Instant, n int64) limiter.Events { return limiter.Events{At: at, N: n} }
	q := queue{pending: pendingReturns{
		returns: []granted{{e(1, 5), 7, 0}, {e(2, 6), 8, 0}, {e(3, 1), 7, 0}, {e(1, 4), 7, 0}, {e(4, 2), 7, 0}},
	}}
	l := limiter.LeaseRequest{Incarnation: 7}
	if lost := q.pending.moveTo(&l); lost != 6 || l.Returns != [2]limiter.Return{ret(1, 9), ret(3, 1)} || q.empty() {
		t.Errorf("lost %d, returned %+v, empty: %v; want 6, 9 of 1 and 1 of 3, and something left", lost, l.Returns, q.empty())
	}
	l = limiter.LeaseRequest{Incarnation: 7}
	if lost := q.pending.moveTo(&l); lost != 0 || l.Returns != [2]limiter.Return{ret(4, 2)} || !q.empty() {
		t.Errorf("lost %d, returned %+v, empty: %v; want 0, 2 of 4, and nothing left", lost, l.Returns, q.empty())
	}
	q.pending.returns = []granted{{e(1, 5), 7, 0}}
	if lost, owed := q.fail(nil, errCut); lost != 5 || owed != 0 {
		t.Errorf("lost with a request that failed = %d, owed = %d, want 5 and 0", lost, owed)
	}
}

// TestQueueCancels cancels all events that were served at one instant by one request. Events that
// another incarnation has served at the same instant are not canceled with them.
func TestQueueCancels(t *testing.T) {
	var q queue
	for _, g := range []granted{{limiter.Events{At: 1, N: 5}, 7, 9}, {limiter.Events{At: 1, N: 6}, 8, 9}, {limiter.Events{At: 1, N: 2}, 7, 9}} {
		q.pending.cancel(g)
	}
	l := limiter.LeaseRequest{Incarnation: 8}
	if lost, want := q.pending.moveTo(&l), (limiter.Events{At: 1, N: 6}); lost != 7 || l.Cancel != want || l.Lacked != 9 || !q.empty() {
		t.Errorf("lost %d, canceled %+v of %d lacked, empty: %v; want 7, %+v of 9, and nothing left", lost, l.Cancel, l.Lacked, q.empty(), want)
	}
}

// TestServedUnderLoweredLimit has the lender serve a waiter under a limit that was lowered while
// the request was under way. More remains then than the new limit has.
func TestServedUnderLoweredLimit(t *testing.T) {
	before := mustRule(t, bucket, limiter.Limit{Events: 289, Window: 200 * time.Millisecond})
	after := mustRule(t, bucket, limiter.Limit{Events: 86, Window: 200 * time.Millisecond})
	l := limiter.LeaseRequest{
		Rule: before, Need: 1, Served: 1,
		Decision: limiter.Decision{OK: true, At: 1000 * sec, Limit: 289, Remaining: 253, RetryAt: 1000 * sec, ResetAt: 1001 * sec},
	}
	a, w := newAccount(), &waiter{cost: 1, latch: newLatch()}
	w.latch.add()
	a.applyReply(before, 1, 2, &l, 0, false)
	new(queue).serve([]*waiter{w}, a, after, &l, 0, 2, false)
	want := limiter.Decision{OK: true, At: 1000 * sec, Limit: 289, Remaining: 253, RetryAt: 1000 * sec, ResetAt: 1000*sec + 24_914}
	if w.decision != want || w.lacked != 35 {
		t.Errorf("decision %+v with %d lacked, want %+v with 35", w.decision, w.lacked, want)
	}
}
