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
	a.used = min(a.used+cost, maxUsed)
	a.shown = max(0, a.shown-cost)
}

// maxUsed bounds what is known to be used, so that nothing overflows.
const maxUsed = limiter.MaxEvents
