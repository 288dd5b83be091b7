package lease

import (
	"context"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// undoAll returns what the takes have taken, and gives those that are not denied the decision that
// they have without the others.
func (s *Store) undoAll(ctx context.Context, set *takeSet) {
	s.undoDelegated(ctx, set)
	for i := range set.takes {
		switch t := &set.takes[i]; t.state {
		case undecided, delegated:
			now := set.now.forCaller()
			t.Decision = limiter.Decision{
				OK: true, At: now, Limit: t.Rule.Capacity(), Remaining: t.Rule.Capacity(), RetryAt: now, ResetAt: now,
			}
			fallthrough
		case admitted:
			if t.zone != nil {
				s.undo(t, set.now)
			}
		}
	}
}

// undoDelegated has the lender refund what it has consumed for takes without an account.
func (s *Store) undoDelegated(ctx context.Context, set *takeSet) {
	var taken []limiter.Take
	for i := range set.takes {
		if t := &set.takes[i]; t.state == allowed && t.consumed {
			taken = append(taken, ofLender(*t.Take))
			t.Decision.Remaining = min(t.Decision.Limit, t.Decision.Remaining+t.Cost)
		}
	}
	if len(taken) > 0 && s.lender.Refund(context.WithoutCancel(ctx), set.now.forCaller(), taken) != nil {
		for _, k := range taken {
			s.stats.lost.Add(uint64(k.Cost))
		}
	}
}

// release returns what was spent of leases, so that others can take it while the set waits.
func (s *Store) release(set *takeSet) {
	for i := range set.takes {
		t := &set.takes[i]
		if t.state == admitted && t.Decision.Source == limiter.FromLease && t.waiter == nil {
			s.undo(t, set.now)
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
		r := t.zone.rules.ruleFor(t.Rule.ID, a)
		if t.state == admitted {
			c = s.undoLocked(t, a, r, now)
		}
		a.peek(t.Rule, now, t.Cost, &t.Decision)
	case t.state == admitted && t.admission == debited:
		s.stats.lost.Add(uint64(t.Cost)) // with the account, which was removed meanwhile
	}
	t.shard.Unlock()
	s.send(c)
}

// undoLocked returns what t has taken, which was admitted by a or by the lender. The call that it
// returns, unless that is nil, tells the lender.
func (s *Store) undoLocked(t *takeState, a account, r *limiter.Rule, now instant) *call {
	if t.Decision.Source == limiter.FromLease {
		return s.undoSpentLocked(&t.location, a, r, now, t.spent, 0)
	}
	if t.admission > untold {
		a.undoInOutage(t.Cost)
	}
	switch t.admissionLocked() {
	case debited: // for this take
		w := t.waiter
		a.cancelServed(w.cost)
		served := granted{limiter.Events{At: w.decision.At, N: w.cost}, w.incarnation, w.lacked}
		return t.tellLocked(a, r, now, pendingReturns{cancels: []granted{served}})
	case indebted:
		s.stats.debtDropped.Add(uint64(a.reduceDebt(t.Cost)))
	case carried:
		t.waiter.leave(false)
	case untold, uncertain:
	}
	return nil
}

// undoSpentLocked puts what was spent of leases back into those that a holds, and returns the rest
// to the lender. at is when it was spent, 0 if that was just now. The call that it returns, unless
// that is nil, tells the lender.
func (s *Store) undoSpentLocked(l *location, a account, r *limiter.Rule, now instant, spent spent, at limiter.Instant) *call {
	returns, lost := a.takeBack(r, now, spent, at)
	s.stats.lost.Add(uint64(lost))
	switch {
	case returns.any():
		return l.tellLocked(a, r, now, returns)
	case a.hasNews(r, now):
		return s.beginSoonLocked(l, a, r, now)
	}
	return nil
}
