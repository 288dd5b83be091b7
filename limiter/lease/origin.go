package lease

import "github.com/fleetlimit/fleetlimit/limiter"

// noteOrigin notes where the events of t are from.
func (t *takeState) noteOrigin() {
	o := t.Origin
	*o = limiter.Origin{Indebted: t.indebted}
	switch {
	case t.Decision.Source == limiter.FromLease:
		o.Leases, o.Incarnation, o.At = t.spent.leases, t.spent.incarnation, t.spent.at
	case t.state == decided:
		decided := ofLender(*t.Take).Decision
		o.Seen = decided.Seen()
	case t.state == admitted && t.Decision.Source == limiter.FromStore:
		o.Seen, o.Incarnation = limiter.Events{At: t.waiter.decision.At, N: max(t.waiter.cost, t.waiter.lacked)}, t.waiter.spent.incarnation
	}
}

// refundLater refunds k, which has an origin and was decided a while ago: to its lease while the
// account holds that, or by way of the lender. It reports whether the lender is to refund k, which
// then has the decision that the lender knows.
//
// What was debt is so no longer. If the lender has heard of it meanwhile, the refund reduces a
// later debt of the key as much. What was admitted late is not refunded: nobody knows whether the
// lender has debited it.
func (s *Store) refundLater(k *limiter.Take, now instant) (byLender bool) {
	o := k.Origin
	if !k.Decision.OK {
		return false
	}
	if o.Seen.At != 0 {
		k.Decision = limiter.Decision{OK: true, At: o.Seen.At, Limit: k.Rule.Capacity(), Remaining: k.Rule.Capacity() - o.Seen.N}
		known := true
		s.withAccount(k.Rule, k.Key, func(a account) {
			known = o.Incarnation == 0 || a.incarnation == 0 || o.Incarnation == uint64(a.incarnation)
		})
		if !known {
			s.stats.lost.Add(uint64(k.Cost))
		}
		return known
	}
	t := takeState{Take: k, spent: spent{newestOf(o.Leases, k.Cost), o.Incarnation, o.At}}
	z := s.zoneOf(k.Rule)
	if z == nil {
		s.loseSpent(&t)
		return false
	}
	var c *call
	t.locate(z, k.Rule.ID, k.Key)
	t.shard.Lock()
	switch a, ok := t.findLocked(); {
	case !ok:
		s.loseSpent(&t)
	case k.Decision.Source == limiter.FromLease:
		taken := a.taken // it is still demand
		c = s.undoSpentLocked(&t, a, z.rules.of(k.Rule.ID, a), now, o.At)
		a.taken = taken
		a.clearDenial()
	default:
		a.undoInOutage(k.Cost)
		if o.Indebted {
			s.stats.debtDropped.Add(uint64(a.reduceDebt(k.Cost)))
		}
	}
	t.shard.Unlock()
	s.send(c)
	return false
}

// newestOf returns n of the events that were spent of leases: those of the newer one first, which
// can be spent for longer. A take may be refunded in part.
func newestOf(leases [2]limiter.Events, n int64) [2]limiter.Events {
	leases[1].N = min(leases[1].N, n)
	leases[0].N = min(leases[0].N, n-leases[1].N)
	return leases
}

// loseSpent counts as lost what t has spent of leases, as its account is gone.
func (s *Store) loseSpent(t *takeState) {
	if t.Decision.Source == limiter.FromLease {
		s.stats.lost.Add(uint64(t.Cost))
	}
}
