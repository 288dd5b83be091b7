package lease

import (
	"errors"
	"slices"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// complete deals with the reply to c.
func (s *Store) complete(c *call, err error) {
	now := s.now()
	took := now.since(c.sent)
	s.options.Observe(time.Duration(took)*time.Microsecond, err)
	if err == nil {
		before := s.roundTrip.Load()
		s.roundTrip.Store(before + (took-before)/8)
	}
	for i := range c.targets {
		t, l := &c.targets[i], &c.requests[i]
		s.stats.replied(l, t.incarnation, err)
		if t.queue == nil {
			s.stats.settled(t.told, l, err)
			continue
		}
		next := s.reply(t, l, c.sent, now, err)
		if next != nil && next.requests[0].Need == 0 { // it takes the place of c
			next.background, c.background = c.background, false
		}
		s.send(next)
	}
	if c.background {
		s.background.end()
	}
	if c.latch != nil {
		c.latch.done()
	}
}

// reply deals with the reply to l, which was sent at sent, and answers the waiters. It returns the
// next call, for those that still wait and for what the lender is still to hear.
func (s *Store) reply(t *target, l *limiter.LeaseRequest, sent, now instant, err error) (next *call) {
	t.shard.Lock()
	defer t.shard.Unlock()
	a, _ := t.findLocked() // an account with a request under way stays
	dropped, owed := t.droppedLocked()
	waiters := t.queue.underWay[t.content].waiters
	t.queue.underWay[t.content] = underWay{}
	if err != nil {
		s.failLocked(t, a, l, waiters, owed, now, err)
		return nil
	}
	t.clearBackoffLocked()
	t.queue.cancelUnused(waiters, l, t.told)
	if a.olderThanNewest(l, t.incarnation) {
		a.applyOlderReply(l.Rule, sent, now, l)
	} else {
		a.applyReply(l.Rule, sent, now, l, s.jitterOf(l), t.queue.pending.any())
	}
	a.requesting = t.queue.busy()
	if l.Need == 0 || l.Served > 0 { // else nothing was debited
		a.served(min(t.told, l.Served))
		s.stats.settled(a.reduceDebt(owed), l, nil)
	}
	r := t.zone.rules.ruleFor(l.Rule.ID, a) // not that of l if takes have come under a new one
	a.drop(r, dropped)
	s.addDebt(a, r, now, t.queue.serve(waiters, a, r, l, t.told, now))
	s.keepLeasesLocked(t, a, r, l, now)
	return t.nextCallLocked(a, r, now)
}

// failLocked answers the waiters of l, which has failed, and those that wait for the next request.
// owed is what is left of the debt that l told of.
func (s *Store) failLocked(t *target, a account, l *limiter.LeaseRequest, waiters []*waiter, owed int64, now instant, err error) {
	q := t.queue
	a.requesting = q.busy()
	if !errors.Is(err, limiter.ErrNotAsked) {
		s.stats.settled(a.reduceDebt(owed), l, err)
	}
	lost, debt := q.fail(waiters, err)
	s.stats.lost.Add(uint64(lost))
	s.addDebt(a, l.Rule, now, debt)
	if !a.requesting {
		t.endRequestLocked(q)
	}
	s.backOffLocked(&t.location, a, now)
}

// keepLeasesLocked has the wheel look after the leases of a when l has brought some. In a closed
// zone they go back.
func (s *Store) keepLeasesLocked(t *target, a account, r *limiter.Rule, l *limiter.LeaseRequest, now instant) {
	if t.zone.closed.Load() {
		a.retire()
	}
	t.zone.dropPassed(a, r, now)
	if _, at := a.nextReturn(r, now); l.Granted+l.GrantedShare > 0 && at > 0 && !a.watched {
		a.watched = a.hasPart()
		s.wheel.add(due{at, t.zone, t.key.Hash})
	}
}

// nextCallLocked returns the next call of the account a, or nil if there is nothing to request.
// Then the queue ends, unless another request is under way.
func (t *target) nextCallLocked(a account, r *limiter.Rule, now instant) (next *call) {
	q := t.queue
	content, free := q.next(a)
	switch {
	case content == everything && (!q.empty() || a.hasNews(r, now)), free && len(q.waiting) > 0:
		next = newCall(t.key.Text, now)
		next.addLocked(target{location: t.location, queue: q, content: content}, a, r)
	case !a.requesting:
		t.endRequestLocked(q)
	}
	return next
}

// jitterOf returns for how many µs too long the denial in the reply to l is remembered, if it has
// one.
func (s *Store) jitterOf(l *limiter.LeaseRequest) int64 {
	denied := *l
	if d := l.Denial(); d != nil {
		denied.Decision = *d
	}
	return int64(s.options.Random() * float64(denied.Jitter()+1))
}

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
		q.pending.cancel(granted{limiter.Events{At: l.Decision.At, N: left}, l.Incarnation, l.LackedAfter()})
	}
}

// serve hands out the reply l, less the debt that the request told of, to the waiters of the
// request. It returns as debt what was admitted late and is not served.
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
			q.answer(w, becameDebt, l.Decision)
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
	w.incarnation = l.Incarnation
	r, d := l.Rule, l.Decision
	w.lacked = l.LackedAfter()
	d.Remaining = min(a.served(w.cost), r.Capacity())
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
			status = becameDebt
		case w.status != waiting && w.status != late:
			continue
		}
		w.err = err
		q.answer(w, status, limiter.Decision{})
	}
	q.waiting = nil
	if q.underWay[everything].call == nil {
		lost = q.pending.drop()
	}
	return lost, debt
}
