package leasestore

import "github.com/fleetlimit/fleetlimit/limiter"

// undoAll gives back what the takes have got, and gives all that are not denied the answers that they have without the others.
func (s *Store) undoAll(r *request) {
	for i := range r.seats {
		t, k := &r.seats[i], &r.takes[i]
		switch t.state {
		case denied, decided:
			continue
		case undecided, passed:
			k.Decision = unasked(k.Rule, r.now)
		}
		var p place
		if t.waiter != nil { // also when the zone was dropped meanwhile
			s.findIn(&p, t.waiter.book, k)
		} else if !s.find(&p, k) {
			continue
		}
		s.launch(s.undo(&p, t, k, r.now))
	}
}

// undo gives back what k has got, and answers it as if nothing had been asked. What is to be told to the lender is returned.
// Credit is not given back: the lender may have debited it already.
func (s *Store) undo(p *place, t *seat, k *limiter.Take, now limiter.Instant) (back *flight) {
	p.shard.mu.Lock()
	defer p.shard.mu.Unlock()
	a, ok := p.account()
	if !ok { // evicted meanwhile
		return nil
	}
	switch t.state {
	case leased:
		a.Undo(k.Cost, t.version)
		var late bool
		if back, late = s.giveBack(p, a, p.book.rules.under(k.Rule.ID, a), now); late {
			s.later(p, now)
		}
	case served:
		a.Undone(k.Cost)
		back = p.unserve(a, k, t.waiter, now)
	}
	a.Peek(k.Rule, now, k.Cost, &k.Decision)
	return back
}

// unserve has the next loan undo what the lender has served to w. If none is under way, it returns its flight.
func (p *place) unserve(a limiter.Account, k *limiter.Take, w *waiter, now limiter.Instant) (back *flight) {
	what := undo{limiter.Events{At: w.decision.At, N: k.Cost}, w.run}
	if q := p.queue(); q != nil {
		q.undoLater(what)
		return nil
	}
	back = newFlight(k.Key, now)
	p.ask(back, a, k.Rule, &queue{undo: []undo{what}})
	return back
}

// giveBack returns the flight of what a has to tell the lender after a take was undone: what it can spend no more, and what it
// owes. It is nil when that is nothing, or when a is asking and tells it afterwards; or too late, as there is no room for it now.
// The shard is locked.
func (s *Store) giveBack(p *place, a limiter.Account, r *limiter.Rule, now limiter.Instant) (f *flight, late bool) {
	if !tells(a, r, now) {
		return nil, false
	}
	return s.begin(p, a, r, now, flightsMost, false)
}

// tend is giveBack when a lease may have ended, and asks for what is wanted next, unless the zone has ended; but for that alone it
// is never too late, as the next take asks for it.
func (s *Store) tend(p *place, a limiter.Account, r *limiter.Rule, now limiter.Instant) (f *flight, late bool) {
	told, renewed := tells(a, r, now), !p.book.ended.Load() && a.Renews(r, now)
	if !told && !renewed {
		return nil, false
	}
	f, late = s.begin(p, a, r, now, flightsMost, renewed)
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
