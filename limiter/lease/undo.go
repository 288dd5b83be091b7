package lease

import "github.com/fleetlimit/fleetlimit/limiter"

// undoAll gives back what the takes have got, and gives all that are not denied the answers that they have without the others.
func (s *Store) undoAll(r *request) {
	for i := range r.seats {
		t, k := &r.seats[i], &r.takes[i]
		switch t.state {
		case decided:
			if !r.any(denied) { // nobody waits any more; else the lender has consumed nothing
				s.stats.lost.Add(uint64(k.Cost))
			}
			continue
		case denied, failed:
			continue
		case undecided, delegated:
			k.Decision = unasked(k.Rule, r.now)
		}
		var p location
		if t.waiter != nil { // also when the zone was dropped meanwhile
			s.findIn(&p, t.waiter.book, k)
		} else if !s.find(&p, k) {
			s.lose(t, k)
			continue
		}
		s.send(s.undo(&p, t, k, r.now))
	}
}

// release gives back what was spent of leases, so that it can be taken by others while the request waits.
func (s *Store) release(r *request) {
	for i := range r.seats {
		t, k := &r.seats[i], &r.takes[i]
		var p location
		if t.state == leased && t.waiter == nil && s.find(&p, k) {
			s.send(s.undo(&p, t, k, r.now))
			*t = takeState{askedAlone: t.askedAlone}
		}
	}
}

// undo gives back what k has got, and answers it as if nothing had been asked. What is to be told to the lender is returned.
// Credit is not given back: the lender may have debited it already.
func (s *Store) undo(p *location, t *takeState, k *limiter.Take, now limiter.Instant) (back *leaseRequest) {
	p.shard.mu.Lock()
	defer p.shard.mu.Unlock()
	a, ok := p.account()
	if !ok { // evicted meanwhile
		s.lose(t, k)
		return nil
	}
	r := p.book.rules.under(k.Rule.ID, a)
	switch t.state {
	case leased:
		if back = s.unspend(p, a, r, t.spent, now); back != nil {
			break
		}
		var late bool
		if back, late = s.giveBack(p, a, r, now); late {
			s.later(p, now)
		}
	case served:
		back = p.unserve(a, r, t.waiter, now)
	case late:
		back = s.undoLate(p, t, k, a, r, now)
	}
	a.Peek(k.Rule, now, k.Cost, &k.Decision)
	return back
}

// unserve has the lender undo what it has served to w.
func (p *location) unserve(a limiter.Account, r *limiter.Rule, w *waiter, now limiter.Instant) (back *leaseRequest) {
	a.CancelServed(w.cost)
	return p.tell(a, r, now, func(q *queue) { q.undoLater(undo{limiter.Events{At: w.decision.At, N: w.cost}, w.run}) })
}

// unspend gives back what was spent of leases: to those that a still holds, and of others to the lender.
func (s *Store) unspend(p *location, a limiter.Account, r *limiter.Rule, spent limiter.Spent, now limiter.Instant) (back *leaseRequest) {
	returns, lost := a.ReturnToLease(spent)
	s.stats.lost.Add(uint64(lost))
	if returns[0].N+returns[1].N == 0 {
		return nil
	}
	return p.tell(a, r, now, func(q *queue) {
		for _, e := range returns {
			if e.N > 0 {
				q.returns = append(q.returns, undo{e, spent.Run})
			}
		}
	})
}

// lose counts as lost what k has got, which nobody can give back: its account has gone.
func (s *Store) lose(t *takeState, k *limiter.Take) {
	if t.state == leased || t.state == served {
		s.stats.lost.Add(uint64(k.Cost))
	}
}

// tell has the next loan of a tell the lender what add puts into its queue. If none is under way, it returns its flight.
func (p *location) tell(a limiter.Account, r *limiter.Rule, now limiter.Instant, add func(*queue)) (f *leaseRequest) {
	if q := p.queue(); q != nil {
		add(q)
		return nil
	}
	q := new(queue)
	add(q)
	f = newLeaseRequest(p.key.Text, now)
	p.ask(f, a, r, q)
	return f
}

// giveBack returns the flight of what a has to tell the lender after a take was undone: what it can spend no more, and what it
// owes. It is nil when that is nothing, or when a is asking and tells it afterwards; or too late, as there is no room for it now.
// The shard is locked.
func (s *Store) giveBack(p *location, a limiter.Account, r *limiter.Rule, now limiter.Instant) (f *leaseRequest, late bool) {
	if !tells(a, r, now) {
		return nil, false
	}
	return s.begin(p, a, r, now, maxBackground, false)
}

// maintain is giveBack when a lease may have ended, and asks for what is wanted next, unless the zone has ended; but for that alone it
// is never too late, as the next take asks for it.
func (s *Store) maintain(p *location, a limiter.Account, r *limiter.Rule, now limiter.Instant) (f *leaseRequest, late bool) {
	told, renewed := tells(a, r, now), !p.book.closed.Load() && a.ShouldRenew(r, now)
	if !told && !renewed {
		return nil, false
	}
	f, late = s.begin(p, a, r, now, maxBackground, renewed)
	return f, late && told
}

// tells reports whether a, which is not asking, has something to tell.
func tells(a limiter.Account, r *limiter.Rule, now limiter.Instant) bool {
	back, _ := a.Due(r, now)
	_, owed := a.Outstanding()
	return !a.Asking() && (back || owed > 0)
}

// unasked returns the answer to a take that nothing is known about and that was not asked for, as another one is denied.
func unasked(r *limiter.Rule, now limiter.Instant) limiter.Decision {
	return limiter.Decision{OK: true, At: now, Limit: r.Capacity(), Remaining: r.Capacity(), RetryAt: now, ResetAt: now}
}
