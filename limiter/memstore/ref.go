package memstore

import (
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// A countRef is all that is known of one key. It is valid as long as its shard is locked and nothing is inserted there.
type countRef struct {
	*entry                // nil when the key has none
	numbers int           // of the entry
	far     limiter.Count // the count, when the numbers are not
}

// fresh returns the count, without an entry, of a key that nothing is known of.
func fresh(r *limiter.Rule) countRef { return countRef{far: limiter.NewCount(r.Algorithm)} }

// near returns the count that is in the entry.
func (f countRef) near() limiter.State { return f.Numbers() }

// consume decides k at now, and consumes it when it is allowed.
func (f countRef) consume(k *limiter.Take, now limiter.Instant) {
	if f.far != nil {
		k.Decision = f.far.Take(k.Rule, now, k.Cost)
	} else {
		f.near().TakeInto(&k.Decision, k.Rule, now, k.Cost)
	}
}

// peek returns the decision on a take of cost at now.
func (f countRef) peek(r *limiter.Rule, now limiter.Instant, cost int64) limiter.Decision {
	if f.far != nil {
		return f.far.Peek(r, now, cost)
	}
	return f.near().Peek(r, now, cost)
}

// giveBack returns to the count what k consumed.
func (f countRef) giveBack(k *limiter.Take, now limiter.Instant) {
	if f.far != nil {
		f.far.Refund(k.Rule, now, k.Decision.Seen(), k.Cost)
	} else {
		f.near().Refund(k.Rule, now, k.Decision.Seen(), k.Cost)
	}
}

// take decides k at now, and remembers the decision.
func (f countRef) take(k *limiter.Take, now limiter.Instant) {
	f.consume(k, now)
	f.settle(k, now)
}

// refund gives back what k consumed, and remembers that the key can take it anew.
func (f countRef) refund(k *limiter.Take, now limiter.Instant) {
	f.giveBack(k, now)
	d := f.peek(k.Rule, now, 1)
	rec := f.Value()
	rec.idleSince, rec.resetAt = d.RetryAt, coarseSecondAfter(d.ResetAt)
}

// settle remembers the decision on k, and marks it when it is the first denial of the key in a window.
func (f countRef) settle(k *limiter.Take, now limiter.Instant) {
	d, rec := &k.Decision, f.Value()
	rec.idleSince, rec.resetAt = now, coarseSecondAfter(d.ResetAt)
	switch {
	case d.Remaining > 0:
	case !d.OK && k.Cost == 1:
		rec.idleSince = d.RetryAt
	default:
		rec.idleSince = f.peek(k.Rule, now, 1).RetryAt
	}
	if !d.OK {
		d.Breach = rec.breach(limiter.Instant(k.Rule.Limit.Window/time.Microsecond), now)
	}
}
