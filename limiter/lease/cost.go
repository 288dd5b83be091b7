package lease

import (
	"context"
	"errors"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// Charge implements [limiter.Store]. It spends what the account of a key has leased first, because
// that is debited already, and has the lender charged the rest. If the lender fails, the rest is
// charged to the local bucket, which may then lack any number of events. If the lender was not
// asked, the rest also becomes debt of the account, up to one limit.
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

// noteChargeLocked notes in the account a that the lender was charged k, or that it failed with
// err.
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

// chargeLeases spends up to cost events of the leases, and returns how many it has spent.
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

// Refund implements [limiter.Store]. The lender refunds the takes that it has decided itself: those
// under strict rules, those without an account, and those that were promised a turn. Other takes
// are refunded if they have an Origin. Without it, a decision tells only what clients were told,
// and not what the lender had counted.
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

// ofLender returns k, which the lender has decided, in the form in which the lender is to refund
// it. The decision of k does not tell how many events the parts of a bucket held. So it is changed
// as if the bucket was full before k.
func ofLender(k limiter.Take) limiter.Take {
	if k.Rule.Algorithm.Kind == limiter.TokenBucket && k.Rule.Leases() {
		k.Decision.Remaining = k.Decision.Limit - k.Cost
	}
	return k
}

// noteOrigin notes in Origin where the events of t come from.
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

// refundLater refunds k, which has an Origin. It reports whether the lender is to refund k. Then k
// has the decision of the lender. Events that were spent of a lease go back to the lease if the
// account still holds it, and to the lender otherwise.
//
// A refund of indebted events reduces the debt. If the lender has debited them meanwhile, the
// refund reduces newer debt of the key instead. Carried and uncertain events are not refunded,
// because nobody knows whether the lender has debited them.
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
		s.stats.lost.Add(uint64(k.Cost)) // the account was removed meanwhile
	}
	s.send(c)
	return false
}

// refundServed gives k, which the lender has served, the decision of the lender, and reports
// whether the lender is to refund k. It is not if another incarnation of the lender has served k.
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

// refundLocked refunds k to its account a. It returns the call that tells the lender, or nil if
// there is nothing to tell.
func (s *Store) refundLocked(l *location, a account, k *limiter.Take, now instant) (c *call) {
	o := k.Origin
	if k.Decision.Source == limiter.FromLease {
		taken := a.taken // a refunded take is still demand
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

// newestOf returns n of the events that a take has spent of leases, first those of the newer lease,
// because they can be spent for longer. A take may be refunded in part.
func newestOf(leases [2]limiter.Events, n int64) [2]limiter.Events {
	leases[1].N = min(leases[1].N, n)
	leases[0].N = min(leases[0].N, n-leases[1].N)
	return leases
}
