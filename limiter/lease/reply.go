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
		next, again := s.reply(c, t, l, now, err)
		if again {
			s.options.After(askAgainAfter, func() { s.askAgain(t) })
		}
		if next != nil && next.requests[0].Need == 0 { // next takes the place of c in the background
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

// reply deals with the reply l to a request of c, and answers its waiters. It returns the next call
// of the account, for takes that still wait and for news that the lender is still to hear, or nil.
// If again is true, the caller has askAgain called after a pause. Takes whose call has several
// requests do not ask again, because the takes of the other requests would have to do so too.
func (s *Store) reply(c *call, t *target, l *limiter.LeaseRequest, now instant, err error) (next *call, again bool) {
	t.shard.Lock()
	defer t.shard.Unlock()
	a, _ := t.findLocked() // an account with a request under way stays
	dropped, owed := t.droppedLocked()
	waiters := t.queue.underWay[t.content].waiters
	t.queue.underWay[t.content] = underWay{}
	if err != nil {
		s.failLocked(t, a, l, waiters, owed, now, err)
		return nil, false
	}
	asks := len(c.requests) == 1 && s.asksAgain(waiters, l)
	again = asks && !t.queue.pausing
	t.queue.pausing = t.queue.pausing || asks
	t.clearBackoffLocked()
	t.queue.cancelUnused(waiters, l, t.told)
	if a.olderThanNewest(l, t.incarnation) {
		a.applyOlderReply(l.Rule, c.sent, now, l)
	} else {
		a.applyReply(l.Rule, c.sent, now, l, s.jitterOf(l), t.queue.pending.any() || asks)
	}
	a.requesting = t.queue.busy()
	if l.Need == 0 || l.Served > 0 { // otherwise a take was denied, and nothing was debited
		a.served(min(t.told, l.Served))
		s.stats.settled(a.reduceDebt(owed), l, nil)
	}
	r := t.zone.rules.ruleFor(l.Rule.ID, a) // not l.Rule if takes have come under a new rule
	a.drop(r, dropped)
	s.addDebt(a, r, now, t.queue.serve(waiters, a, r, l, t.told, now, asks))
	s.keepLeasesLocked(t, a, r, l, now)
	return t.nextCallLocked(a, r, now), again
}

// failLocked answers the waiters of the failed request l, and those that wait for the next request.
// owed is how much of the debt in l was not dropped.
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

// keepLeasesLocked has the wheel look after the leases of the account a if the reply l grants any.
// In a closed zone, the leases are returned.
func (s *Store) keepLeasesLocked(t *target, a account, r *limiter.Rule, l *limiter.LeaseRequest, now instant) {
	if t.zone.closed.Load() {
		a.retire()
	}
	t.zone.dropPassed(a, r, now)
	_, at := a.nextReturn(r, now)
	switch {
	case l.Granted+l.GrantedShare == 0 || at == 0:
	case a.hasPart():
		s.watchLocked(&t.location, a, r, now)
	default:
		s.wheel.add(due{at, t.zone, t.key.Hash})
	}
}

// nextCallLocked returns the next call of the account a. If there is nothing to request, it returns
// nil and ends the queue, unless another request is under way or takes are about to ask again.
func (t *target) nextCallLocked(a account, r *limiter.Rule, now instant) (next *call) {
	q := t.queue
	content, free := q.next(a)
	switch {
	case q.pausing:
	case content == everything && (!q.empty() || a.hasNews(r, now)), free && len(q.waiting) > 0:
		next = newCall(t.key.Text, now)
		next.addLocked(target{location: t.location, queue: q, content: content}, a, r)
	case !a.requesting:
		t.endRequestLocked(q)
	}
	return next
}

// jitterOf returns for how many µs longer than the store said the denial in the reply l is
// remembered. It returns 0 if there is no denial.
func (s *Store) jitterOf(l *limiter.LeaseRequest) int64 {
	denied := *l
	if d := l.Denial(); d != nil {
		denied.Decision = *d
	}
	return int64(s.options.Random() * float64(denied.Jitter()+1))
}

// eachServed hands out served events to the waiters of a request. Takes that were admitted late
// come first: otherwise the events that they have used would admit other takes too. eachServed
// returns how many events are left, which were served in vain.
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

// cancelUnused has a later request cancel the events that the reply l serves in vain. told is how
// many of the served events are debt.
func (q *queue) cancelUnused(sent []*waiter, l *limiter.LeaseRequest, told int64) {
	if left := eachServed(sent, l.Served-told, func(*waiter) {}); left > 0 {
		q.pending.cancel(granted{limiter.Events{At: l.Decision.At, N: left}, l.Incarnation, l.LackedAfter()})
	}
}

// serve answers the waiters of a request by its reply l. told is how many of the served events are
// debt. serve returns as new debt the events of takes that were admitted late and that l does not
// serve.
//
// A reply decides all waiters of its request, unless it serves MaxMore events, or denies takes that
// ask again. Then the others wait for the next request. Last, the account decides as many waiters
// as it can.
func (q *queue) serve(
	sent []*waiter, a account, r *limiter.Rule, l *limiter.LeaseRequest, told int64, now instant, again bool,
) (debt int64) {
	eachServed(sent, l.Served-told, func(w *waiter) { q.serveWaiter(a, w, l) })
	var waitOn []*waiter
	for _, w := range sent {
		switch {
		case w.status == late:
			debt += w.cost
			q.answer(w, becameDebt, l.Decision)
		case w.status == waiting && (again || !q.decideUnserved(w, a, r, l, now)):
			w.call, w.asksAgain, waitOn = nil, w.asksAgain || again, append(waitOn, w)
		}
	}
	q.waiting = append(waitOn, q.waiting...)
	q.decideWaiting(a, r, now)
	return debt
}

// serveWaiter answers a waiter that the lender has served, under the limit of its request, because
// the limit of the account may have changed since. By the lender's reset instant, a bucket lacks
// the events that its parts hold. Clients are told instead when the remaining events in their
// headers are the full limit again.
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

// decideUnserved answers a waiter that the reply l does not serve, if l denies the waiter or
// another take of the same call. Otherwise it reports false.
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
		d.Breach, denial.Breach = denial.Breach, false // the first denied waiter has the breach
	}
	q.answer(w, replied, d)
	return true
}

// decideWaiting answers the waiters that the account can decide, and removes those that have gone.
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

// fail answers the waiters of a failed request, and those that wait for the next request, with err.
// lost is how many events no request will return any more. debt is how many events were admitted
// late without asking the store.
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
