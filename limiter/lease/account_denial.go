package lease

import (
	"math"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// A denial is remembered for maxDenialMemory µs at most, because other nodes may return leased
// events before the store's retry instant. If the account has a part of the bucket, the denial is
// remembered for partDenialMemory µs at most: meanwhile the node admits takes from what the part
// accrues.
const maxDenialMemory, partDenialMemory = 1_000_000, 2_000_000

// denies reports whether the remembered denial denies a take of cost events.
func (a account) denies(r *limiter.Rule, now instant, cost int64) bool {
	return a.denied && a.meetsDenial(r, now, cost)
}

// meetsDenial is a function of its own so that the compiler inlines denies, which then costs no
// call if nothing was denied.
func (a account) meetsDenial(r *limiter.Rule, now instant, cost int64) bool {
	return cost >= int64(a.deniedCost) && now < a.rememberUntil && a.leased(r, now) < cost
}

// deny remembers the denial in the reply l to a request that was sent at sent. The account repeats
// it until rememberUntil, or until clearDenial. If a take waits for the reply, deny also marks the
// node's first denial in a window as the breach. The store cannot mark it, because it does not hear
// of the denials that nodes repeat.
//
// The store has decided at an unknown instant between sent and now. deny assumes the latest one for
// the retry instant, so that clients never ask too early. A strict rule has no leases: its denial
// is repeated only as long as the store is certain to deny. Under other rules, a denial is repeated
// until jitter µs after the retry instant (see repeatDenial), and longer for a busy key (see
// denialLasts). With a part of the bucket, the node decides by itself for a while: until the part
// has accrued enough or the node asks the store again. Clients are told that instant if it is later
// than the store's.
func (a account) deny(sent, now instant, l *limiter.LeaseRequest, jitter int64) {
	d := &l.Decision
	cost, before := max(1, l.Need), a.rememberUntil
	d.Breach = l.Need > 0 && a.breaches(l.Rule, now)
	a.denied, a.deniedCost = true, uint32(cost)
	a.retryAt, a.rememberUntil = never, now.plus(maxDenialMemory)
	if d.RetryAt == limiter.Never {
		return
	}
	wait := int64(d.RetryAt - d.At)
	a.retryAt = now.plus(wait)
	a.fullAfter = uint32(min(max(0, d.ResetAt-d.RetryAt+999)/1000, math.MaxUint32))
	if l.Rule.Strict {
		a.rememberUntil = min(a.rememberUntil, sent.plus(wait))
	} else {
		a.rememberUntil = min(a.rememberUntil, a.retryAt.plus(jitter))
	}
	a.rememberUntil = max(a.rememberUntil, now.plus(a.denialLasts(l.Rule, now, before, cost)))
	if a.share > 0 {
		a.rememberUntil = now.plus(min(partDenialMemory, a.usableFor(1, now)))
		a.retryAt = max(a.retryAt, min(a.rememberUntil, a.nextOfPart(l.Rule, now, cost)))
		d.RetryAt = d.At + limiter.Instant(max(1, a.retryAt-now))
	}
}

// breaches reports whether a denial at now is the first of a window on this node. If so, it notes
// the denial.
func (c *cold) breaches(r *limiter.Rule, now instant) bool {
	second := uint32(now / 1_000_000)
	first := c.breachAt == 0 || int64(second-c.breachAt) >= max(1, r.Limit.Window.Microseconds()/1_000_000)
	if first {
		c.breachAt = second
	}
	return first
}

// denyAgain denies a take of cost events by the remembered denial. If the store has denied a
// request in the background, this may be the first take that is denied in the window. Then its
// denial is the breach.
func (a account) denyAgain(d *limiter.Decision, r *limiter.Rule, now instant, cost int64) {
	a.repeatDenial(d, r, now, cost)
	d.Breach = a.breaches(r, now)
	a.noteRepeated(now, cost)
}

// repeatDenial sets d to the denial of a take of cost events, which are at least deniedCost.
// Clients are told the store's retry instant. Once that has passed, they are told the instant from
// which takes ask the store again.
func (a account) repeatDenial(d *limiter.Decision, r *limiter.Rule, now instant, cost int64) {
	a.decide(d, r, now, limiter.FromRememberedDenial, a.showAll(r, now))
	retryAt := a.retryAt
	if now >= retryAt {
		retryAt = a.rememberUntil
	}
	if retryAt != never {
		resetAt := a.retryAt.plus(int64(a.fullAfter) * 1000)
		switch more := cost - int64(a.deniedCost); {
		case more == 0:
		case r.Algorithm.Kind.Refills():
			retryAt = retryAt.plus(r.TimeFor(more))
		default:
			retryAt = max(retryAt, resetAt)
		}
		if r.Strict {
			d.ResetAt = resetAt.forCaller()
		}
	}
	if a.share > 0 && retryAt != never {
		if next := a.nextOfPart(r, now, cost); next > now && (retryAt <= now || next < retryAt) {
			retryAt = next
		}
	}
	if cost > r.Capacity() {
		retryAt = never
	}
	d.RetryAt = retryAt.forCaller()
}

// lastDenial returns the retry instant of the last denial, which may be past. It returns 0 if the
// denial was cleared, was under another limit than that of r, or was of a take of more than cost
// events.
func (a account) lastDenial(r *limiter.Rule, cost int64) instant {
	if !a.denied || !a.appliesTo(r) || cost < int64(a.deniedCost) {
		return 0
	}
	return a.retryAt
}

// refunded notes that the store has refunded events, so that the denied take may now be allowed.
func (h *hot) refunded(events int64) {
	h.cancelServed(events)
	h.clearDenial()
}

// clearDenial clears the remembered denial. It is called when the denial may no longer hold: the
// limit was changed, the store has admitted or refunded events, or an operator has changed the
// count.
func (h *hot) clearDenial() { h.denied = false }
