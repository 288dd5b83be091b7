package lease

import (
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// A queue is what waits for the replies to the requests of an account, while one is under way. The
// lock of the account's shard guards it and its waiters.
//
// Two requests of an account may be under way at once. The first carries everything. The second
// carries what takes need, and nothing else: see overlaps. Takes that come while no request can be
// sent wait for the next one.
type queue struct {
	underWay [2]underWay // by content
	waiting  []*waiter   // for the next request

	pausing bool           // no request is sent for waiting before they ask again: see askAgain
	pending pendingReturns // for the next requests with the content everything

	drained *latch // to be told when no request is under way any more; may be nil
}

// A content is what a request carries. It is an index of queue.underWay.
type content uint8

const (
	everything content = iota
	needsOnly
)

// An underWay is a request under way. If call is nil, there is none.
type underWay struct {
	call    *call
	waiters []*waiter // the smallest of their costs is what the request needs
	bare    bool      // the request carries takes only: no return, no cancel, no debt

	// What was dropped since the request was sent, because an operator has changed the count.
	dropped     dropped
	droppedDebt int64 // events of the account's debt that were dropped
}

// A waiter is a take that waits for the reply to a request.
type waiter struct {
	cost   int64
	joined time.Duration // the uptime at which it began to wait
	latch  *latch
	call   *call // the call that carries it; nil until there is one
	again  bool  // that call, or one that it waited for, was written more than once

	asksAgain bool // the lender has denied it, and is asked once more

	status   waiterStatus
	decision limiter.Decision
	err      error
	spent    spent // of leases, if the account has decided

	// If the lender has served it:
	incarnation uint64 // of the lender
	lacked      int64  // see limiter.LeaseRequest.Lacked
}

type waiterStatus uint8

const (
	waiting    waiterStatus = iota
	late                    // the take was admitted without a reply: events served to it stay debited
	gone                    // nobody waits for the take: events served to it are canceled
	becameDebt              // the take was late, and the lender has not served it
	served                  // the lender has served the take, as decision says
	replied                 // the account or the reply decides the take by decision, or err is set
)

// queueLocked returns the queue of the account. It returns nil if the account has no request under
// way.
func (l *location) queueLocked() *queue {
	return l.shard.State.queues[name{l.key.ID, string(l.key.Text)}]
}

// endRequestLocked notes that the account has no request under way any more.
func (l *location) endRequestLocked(q *queue) {
	if q.drained != nil {
		q.drained.done()
	}
	delete(l.shard.State.queues, name{l.key.ID, string(l.key.Text)})
}

// next returns the content of the next request of the account a, and whether it can be sent now.
func (q *queue) next(a account) (c content, ok bool) {
	if q.underWay[everything].call == nil {
		return everything, true
	}
	return needsOnly, q.underWay[needsOnly].call == nil && q.overlaps(a)
}

// overlaps reports whether takes may be requested beside the request under way that carries
// everything. They may not be if this node holds leases or returns events: otherwise takes could be
// denied because of events that their own node holds. Nor may they be if there is debt, because
// debt is settled before more is admitted.
func (q *queue) overlaps(a account) bool {
	return q.underWay[everything].bare && !q.pending.any() && a.settled()
}

// busy reports whether a request is under way, or takes are about to ask again.
func (q *queue) busy() bool {
	return q.pausing || q.underWay[everything].call != nil || q.underWay[needsOnly].call != nil
}

func (q *queue) empty() bool { return len(q.waiting) == 0 && !q.pending.any() }

// leave notes that nobody waits for w any more. admitted says whether Rule.OnOutage has admitted
// the take. leave reports whether it has and a request under way carries w.
func (w *waiter) leave(admitted bool) (carried bool) {
	if carried = admitted && w.call != nil; carried {
		w.status = late
	} else {
		w.status = gone
	}
	return carried
}

// answer gives w its status and decision, and tells the takes that wait together with it.
func (q *queue) answer(w *waiter, status waiterStatus, d limiter.Decision) {
	w.status, w.decision = status, d
	if !d.OK && w.err == nil {
		w.latch.deny()
	}
	w.latch.done()
}

// pendingReturns are events that the lender has leased or served in vain. Each request returns or
// cancels some of them.
type pendingReturns struct {
	cancels []granted // served events: a request cancels one of these
	returns []granted // leased events: a request returns as many of these as fit
}

// granted are events that a store has leased or served.
type granted struct {
	limiter.Events
	incarnation uint64 // of the store
	lacked      int64  // for served events: see limiter.LeaseRequest.Lacked
}

func (p *pendingReturns) any() bool { return len(p.cancels) > 0 || len(p.returns) > 0 }

// cancel adds events that were served. Those that were served at one instant are canceled by one
// request.
func (p *pendingReturns) cancel(g granted) {
	for i := range p.cancels {
		if p.cancels[i].At == g.At && p.cancels[i].incarnation == g.incarnation {
			p.cancels[i].N += g.N
			return
		}
	}
	p.cancels = append(p.cancels, g)
}

// add adds the events of others.
func (p *pendingReturns) add(others pendingReturns) {
	for _, g := range others.cancels {
		p.cancel(g)
	}
	p.returns = append(p.returns, others.returns...)
}

// moveTo moves events to l, which cancels and returns them, as far as l has room. If another
// incarnation of the lender has granted events, they are lost. It returns the number of lost
// events.
func (p *pendingReturns) moveTo(l *limiter.LeaseRequest) (lost int64) {
	for len(p.cancels) > 0 && l.Cancel.N == 0 {
		if p.cancels[0].incarnation == l.Incarnation {
			l.Cancel, l.Lacked = p.cancels[0].Events, p.cancels[0].lacked
		} else {
			lost += p.cancels[0].N
		}
		p.cancels = p.cancels[1:]
	}
	for len(p.returns) > 0 {
		if g := p.returns[0]; g.incarnation != l.Incarnation {
			lost += g.N
		} else if !addReturn(l, g.Events) {
			break
		}
		p.returns = p.returns[1:]
	}
	return lost
}

// addReturn adds events of a lease to what l returns, and reports whether there was room.
func addReturn(l *limiter.LeaseRequest, e limiter.Events) bool {
	for i := range l.Returns {
		if b := &l.Returns[i]; b.N == 0 || b.At == e.At {
			b.At, b.N = e.At, b.N+e.N
			return true
		}
	}
	return false
}

// drop removes all events, and returns how many they are.
func (p *pendingReturns) drop() (lost int64) {
	for _, list := range [][]granted{p.cancels, p.returns} {
		for _, g := range list {
			lost += g.N
		}
	}
	*p = pendingReturns{}
	return lost
}
