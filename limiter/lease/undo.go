package lease

import (
	"context"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// undoAll returns what the takes have taken, and gives those that are not denied the decision that
// they have without the others.
func (s *Store) undoAll(ctx context.Context, r *request) {
	s.undoDelegated(ctx, r)
	for i := range r.takes {
		switch t := &r.takes[i]; t.state {
		case undecided, delegated:
			now := r.now.forCaller()
			t.Decision = limiter.Decision{
				OK: true, At: now, Limit: t.Rule.Capacity(), Remaining: t.Rule.Capacity(), RetryAt: now, ResetAt: now,
			}
			fallthrough
		case admitted:
			if t.zone != nil {
				s.undo(t, r.now)
			}
		}
	}
}

// undoDelegated has the lender refund what it has consumed for takes without an account.
func (s *Store) undoDelegated(ctx context.Context, r *request) {
	var taken []limiter.Take
	for i := range r.takes {
		if t := &r.takes[i]; t.state == decided && t.consumed {
			taken = append(taken, *t.Take)
			t.Decision.Remaining = min(t.Decision.Limit, t.Decision.Remaining+t.Cost)
		}
	}
	if len(taken) > 0 && s.lender.Refund(context.WithoutCancel(ctx), r.now.forCaller(), taken) != nil {
		for _, k := range taken {
			s.stats.lost.Add(uint64(k.Cost))
		}
	}
}

// release returns what was spent of leases, so that others can take it while the request waits.
func (s *Store) release(r *request) {
	for i := range r.takes {
		t := &r.takes[i]
		if t.state == admitted && t.Decision.Source == limiter.FromLease && t.waiter == nil {
			s.undo(t, r.now)
			t.state, t.needsRefill = undecided, false
		}
	}
}

// undo returns what t has taken, and decides it as if nothing had been taken.
func (s *Store) undo(t *takeState, now instant) {
	var c *call
	t.shard.Lock()
	a, ok := t.findLocked()
	switch {
	case ok:
		r := t.zone.rules.of(t.Rule.ID, a)
		if t.state == admitted {
			c = s.undoLocked(t, a, r, now)
		}
		a.peek(t.Rule, now, t.Cost, &t.Decision)
	case t.state == admitted && (t.Decision.Source == limiter.FromLease || t.Decision.Source == limiter.FromStore):
		s.stats.lost.Add(uint64(t.Cost)) // with the account, which was removed meanwhile
	}
	t.shard.Unlock()
	s.send(c)
}

// undoLocked returns what t has taken from a, and the call that tells the lender, if one is needed
// now. Credit is not returned: the lender may have debited it already.
func (s *Store) undoLocked(t *takeState, a account, r *limiter.Rule, now instant) (c *call) {
	w := t.waiter
	switch t.Decision.Source {
	case limiter.FromLease:
		if c = s.unspendLocked(t, a, r, t.spent, now); c != nil || !a.hasNews(r, now) {
			return c
		}
		var full bool
		if c, full = s.beginLocked(&t.location, a, r, now, maxBackground, false); full {
			s.attendSoonLocked(&t.location, now)
		}
	case limiter.FromLate, limiter.FromOutage:
		if w != nil || t.owed { // else all keys without an account have decided it
			a.undoInOutage(t.Cost)
			c = s.undoWithoutLenderLocked(t, a, r, now)
		}
	case limiter.FromStore:
		c = t.unserveLocked(a, r, now)
	}
	return c
}

// undoWithoutLenderLocked undoes concludeWithoutLender, and what was served to the waiter of t
// since.
func (s *Store) undoWithoutLenderLocked(t *takeState, a account, r *limiter.Rule, now instant) *call {
	switch w := t.waiter; {
	case t.owed, w.owed:
		s.stats.owedDropped.Add(uint64(a.paidOwed(t.Cost)))
	case w.status == late:
		t.queueLocked().leave(w, false)
	case w.served:
		return t.unserveLocked(a, r, now)
	}
	return nil
}

// unserveLocked has the lender cancel what it served to the waiter of t.
func (t *takeState) unserveLocked(a account, r *limiter.Rule, now instant) *call {
	w := t.waiter
	a.cancelServed(w.cost)
	return t.tellLocked(a, r, now, pendingReturns{cancels: []granted{{limiter.Events{At: w.decision.At, N: w.cost}, w.spent.incarnation}}})
}

// unspendLocked puts what was spent of leases back into those that a holds, and returns the rest to
// the lender.
func (s *Store) unspendLocked(t *takeState, a account, r *limiter.Rule, spent spent, now instant) *call {
	returns, lost := a.takeBack(r, now, spent)
	s.stats.lost.Add(uint64(lost))
	if !returns.any() {
		return nil
	}
	return t.tellLocked(a, r, now, returns)
}

// tellLocked has the next request of a carry these returns. If no request is under way, it returns
// the call for it.
func (l *location) tellLocked(a account, r *limiter.Rule, now instant, returns pendingReturns) *call {
	if q := l.queueLocked(); q != nil {
		q.returns.add(returns)
		return nil
	}
	c := newCall(l.key.Text, now)
	l.requestLocked(c, a, r, &queue{returns: returns}, everything)
	return c
}
