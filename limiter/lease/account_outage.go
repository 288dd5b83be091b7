package lease

import "github.com/fleetlimit/fleetlimit/limiter"

// takeInOutage decides a take that the store could not decide, by Rule.OnOutage. nodes is how many
// nodes share the limit. What only the store can admit can be tried again at retry.
func (a account) takeInOutage(r *limiter.Rule, now instant, cost int64, nodes int, retry instant, d *limiter.Decision) {
	if !a.appliesTo(r) {
		a.switchLimit(r)
	}
	*d = limiter.Decision{OK: true, Source: limiter.FromOutage, At: now.forCaller(), Limit: r.Capacity()}
	retryAt := now
	switch r.OnOutage {
	case limiter.OutageClosed:
		d.OK, retryAt = false, retry
	case limiter.OutageLocal:
		bucket := r.InOutage(nodes)
		left := a.leftOf(bucket, r, now)
		switch {
		case cost <= left:
			left -= cost
			a.local = left
		case cost > r.Capacity():
			d.OK, retryAt = false, never
		case cost > bucket.Capacity:
			d.OK, retryAt = false, retry
		default:
			d.OK, retryAt = false, a.localAt.plus(bucket.TimeFor(cost-left))
		}
		d.Remaining = min(max(0, left), d.Limit)
	}
	d.RetryAt = retryAt.forCaller()
	d.ResetAt = d.RetryAt // of an unknown count, it is not known
	d.Breach = !d.OK && a.breaches(r, now)
}

// leftOf returns how many events the local bucket has. At the beginning of an outage, they are no
// more than are known to be left. A reply of the store ends the outage and does not fill the
// bucket: the next reply may be late again.
func (a account) leftOf(bucket limiter.LocalBucket, r *limiter.Rule, now instant) int64 {
	if events, took := bucket.Accrue(a.sinceLocal(now)); a.localAt == 0 || events >= bucket.Capacity-a.local {
		a.local, a.localAt = bucket.Capacity, now
	} else {
		a.local, a.localAt = a.local+events, a.localAt.plus(took)
	}
	if !a.inOutage {
		a.inOutage = true
		if left := a.newestRemaining(r, now); left < a.local {
			a.local, a.localAt = left, now
		}
	}
	return a.local
}

func (c *cold) sinceLocal(now instant) int64 { return max(0, now.since(c.localAt)) }

// localLacks reports whether the local bucket is not full.
func (c *cold) localLacks(bucket limiter.LocalBucket, now instant) bool {
	accrued, _ := bucket.Accrue(c.sinceLocal(now))
	return c.localAt != 0 && c.local < bucket.Capacity-accrued
}

// undoInOutage undoes a take that takeInOutage has admitted. After a reply that has ended the
// outage, the local bucket does not get it back.
func (a account) undoInOutage(cost int64) {
	if a.inOutage {
		a.local += cost
	}
}

// atLocalLimit reports whether the local bucket of the account is empty, and was used lately: a
// new account of the key would have a full one.
func (a account) atLocalLimit(now instant) bool {
	return a.inOutage && a.local < 1 && now.since(a.idleSince(now)) < idleFor
}

// chargeInOutage charges cost events to the local bucket, which may then lack more than its
// capacity.
func (a account) chargeInOutage(r *limiter.Rule, now instant, cost int64, nodes int) {
	if r.OnOutage != limiter.OutageLocal {
		return
	}
	if !a.appliesTo(r) {
		a.switchLimit(r)
	}
	a.local = a.leftOf(r.InOutage(nodes), r, now) - cost
}
