package lease

import (
	"math"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// Under a strict rule an account holds no leases and has no credit: the store decides every take that is admitted. What the account
// repeats is a denial, as exactly as the store has said it.

// denyExactly has the denial of l, which was asked for at the instant asked, remembered for no longer than the store repeats it.
func (a account) denyExactly(asked, now limiter.Instant, l *limiter.LeaseRequest) {
	d := &l.Decision
	if d.RetryAt == limiter.Never {
		return
	}
	a.fullAfter = uint32(min(max(0, d.ResetAt-d.RetryAt+999)/1000, math.MaxUint32))
	wait := d.RetryAt - d.At
	a.retryAt = now + wait // by the latest instant at which the store may have decided, and until the earliest
	a.deniedUntil = min(now+maxDenialMemory, asked+wait)
}

// repeatDenial answers a take of cost events that a remembered denial meets, of as many events or fewer.
func (a account) repeatDenial(d *limiter.Decision, r *limiter.Rule, now limiter.Instant, cost int64) {
	a.answer(d, r, now, limiter.FromRememberedDenial, 0)
	d.RetryAt = a.retryAt
	more := cost - int64(a.deniedCost)
	if r.Strict && a.retryAt != limiter.Never {
		d.ResetAt = a.retryAt + limiter.Instant(a.fullAfter)*1000
		switch {
		case more == 0:
		case r.Algorithm.Kind == limiter.TokenBucket:
			d.RetryAt = r.AccruedAt(a.retryAt, more)
		default:
			d.RetryAt = d.ResetAt
		}
	}
	if cost > r.Capacity() {
		d.RetryAt = limiter.Never
	}
}

// Refunded tells the account that the store took back so many events, so that what was denied before may be allowed.
func (b *hot) Refunded(events int64) {
	b.CancelServed(events)
	b.denies = false
}
