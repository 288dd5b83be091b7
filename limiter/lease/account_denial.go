package lease

import (
	"math"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// A denial is remembered for maxDenialMemory µs at most, as other nodes may return leased events
// before the store's retry instant. One that came with a part of the bucket is remembered for
// partDenialMemory µs at most. Meanwhile the node admits what the part accrues.
const maxDenialMemory, partDenialMemory = 1_000_000, 2_000_000

// denies reports whether a take of cost events meets the remembered denial.
func (a account) denies(r *limiter.Rule, now instant, cost int64) bool {
	return a.denied && a.meetsDenial(r, now, cost)
}

// meetsDenial is a function of its own so that denies is inlined, and costs no call where nothing
// was denied.
func (a account) meetsDenial(r *limiter.Rule, now instant, cost int64) bool {
	return cost >= int64(a.deniedCost) && now < a.rememberUntil && a.leased(r, now) < cost
}

// deny remembers the denial in the reply to a request that was sent at sent, until clearDenial. It
// marks the node's first denial in a window as the breach, unless no take waits for it: the store
// cannot, as it does not hear of the denials that nodes repeat.
//
// The store has decided at an unknown instant between sent and now. Its retry instant is the latest
// one that this allows, so that clients never ask too early. Under a strict rule there are no
// leases, and the denial is repeated only as long as the store is certain to deny. Under others it
// is repeated until jitter µs after the retry instant, see repeatDenial, and that of a busy key for
// longer, see denialLasts. With a part of the bucket,
// the node decides by itself for a while, until it has accrued enough or asks the store again.
// Clients are told that instant if it is later than the store's.
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

// breaches reports whether a denial at now is the first of a window on this node, and notes it.
func (c *cold) breaches(r *limiter.Rule, now instant) bool {
	second := uint32(now / 1_000_000)
	first := c.breachAt == 0 || int64(second-c.breachAt) >= max(1, r.Limit.Window.Microseconds()/1_000_000)
	if first {
		c.breachAt = second
	}
	return first
}

// denyAgain denies a take of cost events, which meets the remembered denial. No take may have been
// denied since the window began, if the store has denied in the background: so this is the breach.
func (a account) denyAgain(d *limiter.Decision, r *limiter.Rule, now instant, cost int64) {
	a.repeatDenial(d, r, now, cost)
	d.Breach = a.breaches(r, now)
	a.noteRepeated(now, cost)
}

// repeatDenial denies a take of cost events, which are as many as were denied or more. Clients are
// told the store's retry instant. Once that has passed, they are told when a take asks the store
// again.
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

// lastDenial returns the retry instant of the last denial, if that was of a take of at most cost
// events under r and was not cleared since. It may be past. Without such a denial it is 0.
func (a account) lastDenial(r *limiter.Rule, cost int64) instant {
	if !a.denied || !a.appliesTo(r) || cost < int64(a.deniedCost) {
		return 0
	}
	return a.retryAt
}

// refunded notes that the store refunds events, so that the denied take may now be allowed.
func (h *hot) refunded(events int64) {
	h.cancelServed(events)
	h.clearDenial()
}

// clearDenial clears the remembered denial: the limit was changed, or the store has admitted or
// refunded since.
func (h *hot) clearDenial() { h.denied = false }
