package lease

import "github.com/fleetlimit/fleetlimit/limiter"

// A queue is what waits for the answers to an account that is asking. The lock of the account's shard guards it and the
// waiters.
type queue struct {
	flying  []*waiter // with the loan on its way; the cost of the first is its need
	waiting []*waiter // for the next one
	undo    []undo    // for the next ones, one for each
	returns []undo    // for the next ones, as many as fit into each
	late    int64     // events of the waiters that were admitted before they were answered
	closing *latch    // that waits until the account asks no more; may be nil
}

// An undo is events that the lender served, or lent, in vain.
type undo struct {
	limiter.Events
	run uint64 // of the lender
}

// A waiter is a take that waits.
type waiter struct {
	book  *Zone
	cost  int64
	party *latch

	gone     bool // nobody is waiting for it any more
	late     bool // nobody is waiting, and it was admitted: what is served to it stays consumed
	answered bool
	served   bool // by the lender; or else by the account
	decision limiter.Decision
	err      error
	run      uint64        // of the lender that served it
	spent    limiter.Spent // by the account that did
}

// startWaiting has all waiters fly, and returns what the first needs, and what the others do.
func (q *queue) startWaiting() (need, more int64) {
	q.flying, q.waiting = q.waiting, nil
	for i, w := range q.flying {
		if i == 0 {
			need = w.cost
		} else {
			more += w.cost
		}
	}
	return need, more
}

// undoLater has a later loan undo what the lender has served. What it served at one instant is undone by one.
func (q *queue) undoLater(u undo) {
	for i := range q.undo {
		if q.undo[i].At == u.At && q.undo[i].run == u.run {
			q.undo[i].N += u.N
			return
		}
	}
	q.undo = append(q.undo, u)
}

// undone returns what the next loan undoes. What another run of the lender has served cannot be undone, and is lost.
func (q *queue) undone(run uint64) (e limiter.Events, lost int64) {
	for len(q.undo) > 0 && e.N == 0 {
		if q.undo[0].run == run {
			e = q.undo[0].Events
		} else {
			lost += q.undo[0].N
		}
		q.undo = q.undo[1:]
	}
	return e, lost
}

// giveBack has l return what was lent in vain, as far as there is room. What another run of the lender has lent is lost.
func (q *queue) giveBack(l *limiter.LeaseRequest) (lost int64) {
	for len(q.returns) > 0 {
		switch u := q.returns[0]; {
		case u.run != l.Incarnation:
			lost += u.N
		case !l.Return(u.Events):
			return lost
		}
		q.returns = q.returns[1:]
	}
	return lost
}

func (q *queue) empty() bool { return len(q.waiting) == 0 && !q.owesBack() }

// owesBack reports whether the lender is still to be told of something that it served or lent in vain.
func (q *queue) owesBack() bool { return len(q.undo) > 0 || len(q.returns) > 0 }

// serve gives what was served to those who were admitted before that, and to those who fly, and then all who wait what was leased or
// denied under r. Those who get no answer wait on.
func (q *queue) serve(a limiter.Account, r *limiter.Rule, l *limiter.LeaseRequest, now limiter.Instant) {
	left := q.serveLate(a, l, l.Served)
	var waiting []*waiter
	for i, w := range q.flying {
		switch {
		case w.gone, w.answered:
		case w.cost <= left:
			left -= w.cost
			q.serveOne(a, w, l)
		case i == 0 && l.Served == 0 && !(w.late && l.Decision.OK): // denied, or another loan of the flight is
			q.answer(w, l.Decision)
		default:
			waiting = append(waiting, w)
		}
	}
	if left > 0 {
		q.undoLater(undo{limiter.Events{At: l.Decision.At, N: left}, l.Incarnation})
	}
	q.flying, q.waiting = nil, append(waiting, q.waiting...)
	q.serveWaiting(a, r, now)
}

// serveLate gives those who were admitted before the answer what was served, whomever it was asked for: else others would be
// admitted by the same events. It returns what is left.
func (q *queue) serveLate(a limiter.Account, l *limiter.LeaseRequest, left int64) int64 {
	for _, list := range [][]*waiter{q.flying, q.waiting} {
		for i := 0; i < len(list) && q.late > 0 && left > 0; i++ {
			if w := list[i]; w.late && w.cost <= left {
				left -= w.cost
				q.serveOne(a, w, l)
			}
		}
	}
	return left
}

// serveOne answers a waiter that is served.
func (q *queue) serveOne(a limiter.Account, w *waiter, l *limiter.LeaseRequest) {
	w.served, w.run = true, l.Incarnation
	d := l.Decision
	d.Remaining = a.Served(w.cost)
	q.answer(w, d)
}

// serveWaiting answers the waiters that the account can.
func (q *queue) serveWaiting(a limiter.Account, r *limiter.Rule, now limiter.Instant) {
	waiting := q.waiting[:0]
	for _, w := range q.waiting {
		d, left := limiter.Decision{}, a.Left()
		switch {
		case w.gone, w.answered:
		case a.Take(r, now, w.cost, 0, &d):
			w.spent = a.SpentSince(left)
			q.answer(w, d)
		default:
			waiting = append(waiting, w)
		}
	}
	clear(q.waiting[len(waiting):])
	q.waiting = waiting
}

// fail gives all waiters an error, and returns how many events are lost, as nobody will undo them.
func (q *queue) fail(err error) (lost int64) {
	for _, w := range append(q.flying, q.waiting...) {
		if !w.gone {
			w.err = err
			w.answer(limiter.Decision{})
		}
	}
	for _, u := range append(q.undo, q.returns...) {
		lost += u.N
	}
	return lost
}

// giveUp waits for w no longer. What is served to it is undone.
func (q *queue) giveUp(w *waiter) {
	q.settleLate(w)
	w.gone = true
}

// answer answers w.
func (q *queue) answer(w *waiter, d limiter.Decision) {
	q.settleLate(w)
	w.answer(d)
}

// settleLate says that it is known what has become of w, if it was admitted before that.
func (q *queue) settleLate(w *waiter) {
	if w.late {
		w.late = false
		q.late -= w.cost
	}
}

func (w *waiter) answer(d limiter.Decision) {
	w.decision, w.answered = d, true
	if !d.OK && w.err == nil {
		w.party.deny()
	}
	w.party.leave()
}
