package lease

import (
	"context"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// An account decides a take that may wait for its turn, as long as the account can admit the take
// or knows that its turn would come too late. Otherwise the lender decides the take alone, as it
// would under a strict rule, because only the lender knows what the bucket has promised. Nodes go
// on to spend the parts that they hold. While the bucket has promised events, it grants no other
// parts.

// waits reports whether t may wait for its turn.
func (t *takeState) waits() bool {
	return t.Wait > 0 && t.Rule.MaxWait > 0 && t.Rule.Algorithm.Kind.Promises()
}

// wait returns for how many µs t may wait.
func (t *takeState) wait() int64 { return waitOf(t.Take) }

func waitOf(k *limiter.Take) int64 {
	if !k.Rule.Algorithm.Kind.Promises() {
		return 0
	}
	return max(0, min(k.Wait, k.Rule.MaxWait.Microseconds()))
}

// takeWaiting is take for a take that may wait for wait µs.
func (a account) takeWaiting(r *limiter.Rule, now instant, cost, wait int64, d *limiter.Decision) (decided bool) {
	if wait > 0 && a.appliesTo(r) && a.denies(r, now, cost) {
		if !a.deniesTurn(now, wait) {
			return false
		}
		a.denyAgain(d, r, now, cost)
		d.RetryWaiting(wait)
		return true
	}
	return a.take(r, now, cost, d)
}

// peekWaiting is peek for a take that may wait for wait µs.
func (a account) peekWaiting(r *limiter.Rule, now instant, cost, wait int64, d *limiter.Decision) (known bool) {
	known = a.peek(r, now, cost, d)
	if known && !d.OK && wait > 0 {
		if !a.deniesTurn(now, wait) {
			return false
		}
		d.RetryWaiting(wait)
	}
	return known
}

// deniesTurn reports whether the retry instant of the remembered denial is more than wait µs after
// now.
func (a account) deniesTurn(now instant, wait int64) bool { return now.plus(wait) < a.retryAt }

// concludeTurn notes in the account of t how the lender has decided t, which may wait. The account
// remembers a denial as that of a take that may not wait, which has a later retry instant. sent is
// when the lender was asked.
func (s *Store) concludeTurn(t *takeState, sent, now instant) {
	if t.zone == nil || !t.waits() {
		return
	}
	t.withAccount(func(a account) {
		if !a.appliesTo(t.Rule) {
			a.switchLimit(t.Rule)
		}
		switch {
		case t.Err != nil:
		case !t.Decision.OK:
			l := limiter.LeaseRequest{Rule: t.Rule, Need: t.Cost, Decision: t.Decision}
			if l.Decision.RetryAt != limiter.Never {
				l.Decision.RetryAt += limiter.Instant(t.wait())
			}
			a.deny(sent, now, &l, 0)
			l.Decision.RetryWaiting(t.wait())
			t.Decision = l.Decision
		case t.Decision.Turn == 0:
			a.clearDenial()
			a.addTaken(t.Cost)
			t.needsRefill = a.needsRefill(t.Rule, now, s.roundTrip.Load())
		}
	})
}

// GiveBack implements [limiter.Promiser]. The lender gives back what it has promised.
func (s *Store) GiveBack(ctx context.Context, now limiter.Instant, k *limiter.Take) (back bool, err error) {
	p, promises := s.lender.(limiter.Promiser)
	if !promises || k.Decision.Turn == 0 {
		return false, nil
	}
	return p.GiveBack(ctx, now, k)
}
