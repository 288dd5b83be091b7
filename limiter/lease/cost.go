package lease

import (
	"context"
	"errors"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// Charge implements [limiter.Store]. What the account of a key has leased is spent first, as it is
// debited already. The lender is charged the rest. If it fails, the rest is charged to the local
// bucket, which may then lack any number of events. If it was not asked, the rest is also debt of
// the account, of which there is one limit at most.
func (s *Store) Charge(ctx context.Context, now limiter.Instant, takes []limiter.Take) error {
	var rest []limiter.Take
	for _, k := range takes {
		if !k.Rule.Strict {
			s.withAccount(k.Rule, k.Key, func(a account) { k.Cost -= a.chargeLeases(k.Rule, fromCaller(now), k.Cost) })
		}
		if k.Cost > 0 {
			rest = append(rest, k)
		}
	}
	if len(rest) == 0 {
		return nil
	}
	err := s.lender.Charge(ctx, now, rest)
	for _, k := range rest {
		if l, ok := s.locate(k.Rule, k.Key); ok {
			l.withAccount(func(a account) { s.noteChargeLocked(&l, a, &k, s.now(), err) })
		}
	}
	return err
}

// noteChargeLocked notes that the lender was charged k, unless err says that it was not.
func (s *Store) noteChargeLocked(l *location, a account, k *limiter.Take, now instant, err error) {
	if err == nil {
		a.charged(k.Cost)
		return
	}
	a.chargeInOutage(k.Rule, now, k.Cost, s.options.OutageNodes())
	if errors.Is(err, limiter.ErrNotAsked) {
		s.oweLocked(l, a, k.Rule, now, k.Cost)
	}
}

// chargeLeases spends up to cost events of the leases, and returns how many.
func (a account) chargeLeases(r *limiter.Rule, now instant, cost int64) (spent int64) {
	if !a.appliesTo(r) || a.inOutage {
		return 0
	}
	leased := a.leased(r, now)
	if spent = min(cost, leased); spent == 0 {
		return 0
	}
	left, _ := a.spend(r, now, spent)
	a.addTaken(spent)
	a.show(r, now, spent, left)
	return spent
}

// charged notes that the store was charged cost events.
func (a account) charged(cost int64) {
	a.used = min(a.used+cost, limiter.MaxEvents) // so that nothing overflows
	a.shown = max(0, a.shown-cost)
}

// Refund implements [limiter.Store]. The lender refunds what it has decided itself: takes under
// strict rules and takes without an account. Others are refunded if they have an Origin: their
// decision has what clients were told, not what the lender had counted.
func (s *Store) Refund(ctx context.Context, now limiter.Instant, takes []limiter.Take) error {
	var refunds []limiter.Take
	for i := range takes {
		k := takes[i]
		switch {
		case k.Origin != nil:
			if s.refundLater(&k, fromCaller(now)) {
				refunds = append(refunds, k)
			}
		case s.zoneOf(k.Rule) == nil || k.Decision.Turn != 0 || k.Rule.Strict && k.Decision.Source == limiter.FromStore:
			refunds = append(refunds, ofLender(k))
		}
	}
	if len(refunds) == 0 {
		return nil
	}
	err := s.lender.Refund(ctx, now, refunds)
	for i := range refunds {
		if k := &refunds[i]; k.Decision.OK {
			s.withAccount(k.Rule, k.Key, func(a account) { a.refunded(k.Cost) })
		}
	}
	return err
}

// ofLender returns k, which the lender has decided, as it is to refund it. Its decision does not tell
// what parts of a bucket held: so the lender takes the bucket for full before k.
func ofLender(k limiter.Take) limiter.Take {
	if k.Rule.Algorithm.Kind == limiter.TokenBucket && k.Rule.Leases() {
		k.Decision.Remaining = k.Decision.Limit - k.Cost
	}
	return k
}

// noteOrigin notes where the events of t are from.
func (t *takeState) noteOrigin() {
	o := t.Origin
	*o = limiter.Origin{Indebted: t.admission == indebted}
	switch {
	case t.Decision.Source == limiter.FromLease:
		o.Leases, o.Incarnation, o.At = t.spent.leases, t.spent.incarnation, t.spent.at
	case t.state == allowed:
		decided := ofLender(*t.Take).Decision
		o.Seen = decided.Seen()
	case t.state == admitted && t.Decision.Source == limiter.FromStore:
		o.Seen, o.Incarnation = limiter.Events{At: t.waiter.decision.At, N: max(t.waiter.cost, t.waiter.lacked)}, t.waiter.incarnation
	}
}

// refundLater refunds k, which has an Origin. It reports whether the lender is to refund k, which
// then has the decision that the lender knows. What was spent of a lease goes back to it while the
// account holds that lease, and else to the lender.
//
// What was debt is so no longer. If the lender has heard of it meanwhile, the refund reduces a
// later debt of the key as much. Carried and uncertain events are not refunded: nobody knows
// whether the lender has debited them.
func (s *Store) refundLater(k *limiter.Take, now instant) (byLender bool) {
	if !k.Decision.OK {
		return false
	}
	if k.Origin.Seen.At != 0 {
		return s.refundServed(k)
	}
	var c *call
	l, found := s.locate(k.Rule, k.Key)
	if found {
		found = l.withAccount(func(a account) { c = s.refundLocked(&l, a, k, now) })
	}
	if !found && k.Decision.Source == limiter.FromLease {
		s.stats.lost.Add(uint64(k.Cost)) // with the account, which was removed meanwhile
	}
	s.send(c)
	return false
}

// refundServed has the lender refund k, which it has served, unless another incarnation did.
func (s *Store) refundServed(k *limiter.Take) (byLender bool) {
	o, limit, known := k.Origin, k.Rule.Capacity(), true
	k.Decision = limiter.Decision{OK: true, At: o.Seen.At, Limit: limit, Remaining: limit - o.Seen.N}
	s.withAccount(k.Rule, k.Key, func(a account) {
		known = o.Incarnation == 0 || a.incarnation == 0 || o.Incarnation == uint64(a.incarnation)
	})
	if !known {
		s.stats.lost.Add(uint64(k.Cost))
	}
	return known
}

// refundLocked refunds k to its account a. The call that it returns, unless that is nil, tells the
// lender.
func (s *Store) refundLocked(l *location, a account, k *limiter.Take, now instant) (c *call) {
	o := k.Origin
	if k.Decision.Source == limiter.FromLease {
		taken := a.taken // it is still demand
		spent := spent{newestOf(o.Leases, k.Cost), o.Incarnation, o.At}
		c = s.undoSpentLocked(l, a, l.zone.rules.ruleFor(k.Rule.ID, a), now, spent, o.At)
		a.taken = taken
		a.clearDenial()
		return c
	}
	a.undoInOutage(k.Cost)
	if o.Indebted {
		s.stats.debtDropped.Add(uint64(a.reduceDebt(k.Cost)))
	}
	return nil
}

// newestOf returns n of the events that were spent of leases: those of the newer one first, which
// can be spent for longer. A take may be refunded in part.
func newestOf(leases [2]limiter.Events, n int64) [2]limiter.Events {
	leases[1].N = min(leases[1].N, n)
	leases[0].N = min(leases[0].N, n-leases[1].N)
	return leases
}
