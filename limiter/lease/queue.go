package lease

import (
	"errors"
	"slices"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// A queue is what waits for the replies to an account with a request under way. The lock of the
// account's shard guards it and its waiters.
//
// Two requests of an account may be under way at once. The first carries everything. The second
// carries what takes need, and nothing else: see overlaps. Takes that come while no request can be
// sent wait for the next one.
type queue struct {
	requests [2]underWay
	waiting  []*waiter // for the next request

	returns pendingReturns // for the next requests with everything

	drained *latch // is done when no request is under way any more; may be nil
}

// A content is what a request carries. It is an index of queue.requests.
type content uint8

const (
	everything content = iota
	needsOnly
)

// An underWay is a request under way, or none when call is nil.
type underWay struct {
	call    *call
	waiters []*waiter // what the request needs is the least of their costs
	bare    bool      // it returns, cancels and settles nothing

	// Since the request was sent, an operator has changed the count.
	dropped     dropped
	droppedDebt int64 // events of the account's debt that were dropped
}

// A waiter is a take that waits for the reply to a request.
type waiter struct {
	cost   int64
	joined time.Duration // the uptime at which it began to wait
	latch  *latch
	call   *call // that carries it; nil: it waits for one

	status   waiterStatus
	decision limiter.Decision
	err      error
	spent    spent // if the account decided. If the lender did, only the incarnation is set
	lacked   int64 // if the lender decided: see limiter.LeaseRequest.Lacked
}

type waiterStatus uint8

const (
	waiting  waiterStatus = iota
	late                  // nobody waits any more, but the take was admitted: what is served to it stays consumed
	gone                  // nobody waits any more: what is served to it is canceled
	indebted              // as late, but the lender does not serve it: its events are debt
	served                // by the lender, as decision says
	replied               // the account decides it, as decision says, or err is set
)

// next returns what the next request of the account a may carry, if one can be sent now.
func (q *queue) next(a account) (c content, ok bool) {
	if q.requests[everything].call == nil {
		return everything, true
	}
	return needsOnly, q.requests[needsOnly].call == nil && q.overlaps(a)
}

// overlaps reports whether takes may be requested beside the request under way that carries
// everything. They may not if events of this node are returned or to be returned, or are still
// leased: no take is denied for what its own node holds. And debt is settled before more is
// admitted.
func (q *queue) overlaps(a account) bool {
	return q.requests[everything].bare && !q.returns.any() && a.debt == 0 && a.held() == 0
}

// busy reports whether a request is under way.
func (q *queue) busy() bool {
	return q.requests[everything].call != nil || q.requests[needsOnly].call != nil
}

// sendWaiting has a request of c carry all waiters. It returns the least that one of them needs,
// and what the others need. So when the least is denied, all are.
func (q *queue) sendWaiting(c *call, as content) (need, more int64) {
	q.requests[as] = underWay{call: c, waiters: q.waiting}
	for i, w := range q.waiting {
		w.call = c
		more += w.cost
		if i == 0 || w.cost < need {
			need = w.cost
		}
	}
	q.waiting = nil
	return need, more - need
}

func (q *queue) empty() bool { return len(q.waiting) == 0 && !q.returns.any() }

// eachServed hands out events to the waiters of a request: first to those that were admitted late,
// else others would be admitted by the same events. It returns how many are left, in vain.
func eachServed(sent []*waiter, events int64, serve func(*waiter)) (left int64) {
	left = max(0, events)
	for _, status := range []waiterStatus{late, waiting} {
		for _, w := range sent {
			if w.status == status && w.cost <= left {
				left -= w.cost
				serve(w)
			}
		}
	}
	return left
}

// cancelUnused has a later request cancel what the reply l serves in vain, beyond the debt that its
// request told of.
func (q *queue) cancelUnused(sent []*waiter, l *limiter.LeaseRequest, told int64) {
	if left := eachServed(sent, l.Served-told, func(*waiter) {}); left > 0 {
		q.returns.cancel(granted{limiter.Events{At: l.Decision.At, N: left}, l.Incarnation, l.LackedAfter()})
	}
}

// serve hands out the reply l, less the debt that the request told of, to the waiters of the request.
// It returns as debt what was admitted late and is not served.
//
// A reply decides all waiters of its request, unless it serves MaxMore events. Then the others wait
// on. At last the account decides all waiters that it can.
func (q *queue) serve(sent []*waiter, a account, r *limiter.Rule, l *limiter.LeaseRequest, told int64, now instant) (debt int64) {
	eachServed(sent, l.Served-told, func(w *waiter) { q.serveWaiter(a, w, l) })
	var waitOn []*waiter
	for _, w := range sent {
		switch {
		case w.status == late:
			debt += w.cost
			q.answer(w, indebted, l.Decision)
		case w.status == waiting && !q.decideUnserved(w, a, r, l, now):
			w.call, waitOn = nil, append(waitOn, w)
		}
	}
	q.waiting = append(waitOn, q.waiting...)
	q.decideWaiting(a, r, now)
	return debt
}

// serveWaiter answers a waiter that the lender has served, under the limit of its request: that of
// the account may be another one by now. To the lender, a bucket lacks what its parts hold. Clients
// are told when what remains by their headers is the full limit again.
func (q *queue) serveWaiter(a account, w *waiter, l *limiter.LeaseRequest) {
	w.spent.incarnation = l.Incarnation
	r, d := l.Rule, l.Decision
	w.lacked = l.LackedAfter()
	d.Remaining = a.served(w.cost)
	if r.Algorithm.Kind == limiter.TokenBucket {
		d.ResetAt = min(d.ResetAt, d.At+limiter.Instant(r.TimeFor(max(0, r.Capacity()-d.Remaining))))
	}
	q.answer(w, served, d)
}

// decideUnserved answers a waiter that the reply l does not serve, if l decides it: it denies the
// waiter, or has denied another take of the same call.
func (q *queue) decideUnserved(w *waiter, a account, r *limiter.Rule, l *limiter.LeaseRequest, now instant) bool {
	denial := l.Denial()
	if denial == nil {
		if l.Served == 0 {
			q.answer(w, replied, l.Decision)
		}
		return l.Served == 0
	}
	d, before := *denial, a.remaining
	if w.cost != l.Need && a.take(r, now, w.cost, &d) {
		w.spent = a.spentSince(before, now)
	} else if w.cost > r.Capacity() {
		d.RetryAt = limiter.Never
	}
	if !d.OK {
		d.Breach, denial.Breach = denial.Breach, false // the first of them has it
	}
	q.answer(w, replied, d)
	return true
}

// decideWaiting answers the waiters that the account can decide on. It drops those that have gone.
func (q *queue) decideWaiting(a account, r *limiter.Rule, now instant) {
	undecided := q.waiting[:0]
	for _, w := range q.waiting {
		var d limiter.Decision
		before := a.remaining
		switch {
		case w.status != waiting:
		case a.take(r, now, w.cost, &d):
			w.spent = a.spentSince(before, now)
			q.answer(w, replied, d)
		default:
			undecided = append(undecided, w)
		}
	}
	clear(q.waiting[len(undecided):])
	q.waiting = undecided
}

// fail answers the waiters of a request that has failed, and those that wait for a request, with an
// error. It returns how many events are lost, as no request will return them any more, and how many
// are debt, as they were admitted late and the store was not asked for them.
func (q *queue) fail(sent []*waiter, err error) (lost, debt int64) {
	for _, w := range slices.Concat(sent, q.waiting) {
		status := replied
		switch {
		case w.status == late && errors.Is(err, limiter.ErrNotAsked):
			debt += w.cost
			status = indebted
		case w.status != waiting && w.status != late:
			continue
		}
		w.err = err
		q.answer(w, status, limiter.Decision{})
	}
	q.waiting = nil
	if q.requests[everything].call == nil {
		lost = q.returns.drop()
	}
	return lost, debt
}

// leave notes that nobody waits for w any more. admitted says whether the take was admitted all the
// same. Then its events are debt, unless a request under way carries w.
func (q *queue) leave(w *waiter, admitted bool) (debt int64) {
	switch {
	case !admitted:
		w.status = gone
	case w.call != nil:
		w.status = late
	default:
		w.status = gone
		return w.cost
	}
	return 0
}

// answer answers w, and tells those who wait together with it.
func (q *queue) answer(w *waiter, status waiterStatus, d limiter.Decision) {
	w.status, w.decision = status, d
	if !d.OK && w.err == nil {
		w.latch.deny()
	}
	w.latch.done()
}
