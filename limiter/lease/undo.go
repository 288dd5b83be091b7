package lease

import (
	"context"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// undoAll gives back what the takes of the set have taken. Takes that are not denied get the
// decision that they would have without the others.
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

// release puts back what the set has spent of leases, so that other takes can spend it while the
// set waits.
func (s *Store) release(set *takeSet) {
	for i := range set.takes {
		t := &set.takes[i]
		if t.state == admitted && t.Decision.Source == limiter.FromLease && t.waiter == nil {
			s.undo(t, set.now)
			t.state, t.needsRefill = undecided, false
		}
	}
}

// undo gives back what t has taken, and decides t as if it had taken nothing.
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
		s.stats.lost.Add(uint64(t.Cost)) // the account was removed meanwhile
	}
	t.shard.Unlock()
	s.send(c)
}

// undoLocked gives back what t has taken, which was admitted by the account a or by the lender. It
// returns the call that tells the lender, or nil if there is nothing to tell.
func (s *Store) undoLocked(t *takeState, a account, r *limiter.Rule, now instant) *call {
	if t.Decision.Source == limiter.FromLease {
		return s.undoSpentLocked(&t.location, a, r, now, t.spent, 0)
	}
	if t.admission > untold {
		a.undoInOutage(t.Cost)
	}
	switch t.admissionLocked() {
	case debited: // by the lender, for this take
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

// undoSpentLocked puts what was spent of leases back into those that the account a holds, and
// returns the rest to the lender. at is when it was spent, or 0 if that was just now. It returns
// the call that tells the lender, or nil if there is nothing to tell.
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
