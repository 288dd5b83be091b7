package lease

import (
	"errors"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// A queue is what waits for the replies to an account with a request under way. The lock of the
// account's shard guards it and its waiters.
type queue struct {
	sent    []*waiter // with the request under way; it needs the cost of the first
	waiting []*waiter // for the next request
	late    int64     // events of waiters that are late

	cancels []granted // for the next requests, one for each
	returns []granted // for the next requests, as many as fit into each

	drained *latch // is done when no request is under way any more; may be nil

	// Since the request under way was sent, an operator has changed the count.
	dropped                    dropped
	droppedUnpaid, droppedOwed int64 // events of the account's debt that were dropped
}

// granted are events that a store served or leased in vain.
type granted struct {
	limiter.Events
	incarnation uint64 // of the store
}

// A waiter is a take that waits for the reply to a request.
type waiter struct {
	cost  int64
	latch *latch

	status   waiterStatus
	served   bool // by the lender; else the account decided
	decision limiter.Decision
	err      error
	spent    spent // if the account decided. If the lender did, only the incarnation is set
}

type waiterStatus uint8

const (
	waiting waiterStatus = iota
	late                 // nobody waits any more, but the take was admitted: what is served to it stays consumed
	gone                 // nobody waits any more: what is served to it is canceled
	replied              // decision or err is set
)

// sendWaiting moves all waiters to sent. It returns what the first needs, and what the others do.
func (q *queue) sendWaiting() (need, more int64) {
	q.sent, q.waiting = q.waiting, nil
	for i, w := range q.sent {
		if i == 0 {
			need = w.cost
		} else {
			more += w.cost
		}
	}
	return need, more
}

// cancelLater has a later request cancel what the lender has served. What it served at one instant
// is canceled by one request.
func (q *queue) cancelLater(g granted) {
	for i := range q.cancels {
		if q.cancels[i].At == g.At && q.cancels[i].incarnation == g.incarnation {
			q.cancels[i].N += g.N
			return
		}
	}
	q.cancels = append(q.cancels, g)
}

// addReturns has l cancel and return what was served and leased in vain, as far as there is room.
// What another incarnation of the lender has granted is lost.
func (q *queue) addReturns(l *limiter.LeaseRequest) (lost int64) {
	for len(q.cancels) > 0 && l.Cancel.N == 0 {
		if q.cancels[0].incarnation == l.Incarnation {
			l.Cancel = q.cancels[0].Events
		} else {
			lost += q.cancels[0].N
		}
		q.cancels = q.cancels[1:]
	}
	for len(q.returns) > 0 {
		if g := q.returns[0]; g.incarnation != l.Incarnation {
			lost += g.N
		} else if !addReturn(l, g.Events) {
			break
		}
		q.returns = q.returns[1:]
	}
	return lost
}

func (q *queue) empty() bool { return len(q.waiting) == 0 && !q.hasReturns() }

// hasReturns reports whether the lender is still to hear of events that it granted in vain.
func (q *queue) hasReturns() bool { return len(q.cancels) > 0 || len(q.returns) > 0 }

// serve hands out the reply l, less what was owed. Late waiters are served first, for whomever it
// was requested: else others would be admitted by the same events. Then come the waiters in sent,
// and at last the account decides on all that wait. Those without a decision wait on.
func (q *queue) serve(a account, r *limiter.Rule, l *limiter.LeaseRequest, owed int64, now instant) {
	left := max(0, l.Served-owed)
	for _, list := range [][]*waiter{q.sent, q.waiting} {
		for _, w := range list {
			if w.status == late && w.cost <= left {
				left -= w.cost
				q.serveWaiter(a, w, l)
			}
		}
	}
	var unserved []*waiter
	for i, w := range q.sent {
		switch {
		case w.status == gone, w.status == replied:
		case w.cost <= left:
			left -= w.cost
			q.serveWaiter(a, w, l)
		case i == 0 && l.Served == 0 && !(w.status == late && l.Decision.OK): // denied, or another take of the call is
			q.answer(w, l.Decision)
		default:
			unserved = append(unserved, w)
		}
	}
	if left > 0 {
		q.cancelLater(granted{limiter.Events{At: l.Decision.At, N: left}, l.Incarnation})
	}
	q.sent, q.waiting = nil, append(unserved, q.waiting...)
	q.decideWaiting(a, r, now)
}

// serveWaiter answers a waiter that the lender has served.
func (q *queue) serveWaiter(a account, w *waiter, l *limiter.LeaseRequest) {
	w.served, w.spent.incarnation = true, l.Incarnation
	d := l.Decision
	d.Remaining = a.served(w.cost)
	q.answer(w, d)
}

// decideWaiting answers the waiters that the account can decide on.
func (q *queue) decideWaiting(a account, r *limiter.Rule, now instant) {
	undecided := q.waiting[:0]
	for _, w := range q.waiting {
		var d limiter.Decision
		before := a.remaining
		switch {
		case w.status == gone, w.status == replied:
		case a.take(r, now, w.cost, &d):
			w.spent = a.spentSince(before)
			q.answer(w, d)
		default:
			undecided = append(undecided, w)
		}
	}
	clear(q.waiting[len(undecided):])
	q.waiting = undecided
}

// fail answers all waiters with an error. It returns how many events are lost, as no request will
// return them any more, and how many the late waiters owe, as the store has not heard of them.
func (q *queue) fail(err error) (lost, owed int64) {
	for i, w := range append(q.sent, q.waiting...) {
		if w.status == late && (i >= len(q.sent) || errors.Is(err, limiter.ErrNotAsked)) {
			owed += w.cost
		}
		if w.status != gone {
			w.err = err
			q.answer(w, limiter.Decision{})
		}
	}
	for _, g := range append(q.cancels, q.returns...) {
		lost += g.N
	}
	return lost, owed
}

// giveUp notes that nobody waits for w any more.
func (q *queue) giveUp(w *waiter) { q.setStatus(w, gone) }

func (q *queue) setStatus(w *waiter, status waiterStatus) {
	if w.status == late {
		q.late -= w.cost
	}
	w.status = status
}

// answer answers w, and tells those who wait together with it.
func (q *queue) answer(w *waiter, d limiter.Decision) {
	q.setStatus(w, replied)
	w.decision = d
	if !d.OK && w.err == nil {
		w.latch.deny()
	}
	w.latch.done()
}
