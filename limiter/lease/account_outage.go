package lease

import (
	"math"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// takeInOutage decides by Rule.OnOutage a take that the store could not decide. nodes is how many
// nodes share the limit. retry is the retry instant of a take that only the store can admit.
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
	d.ResetAt = d.RetryAt // the count is not known, and so its reset is not
	d.Breach = !d.OK && a.breaches(r, now)
}

// leftOf returns how many events the local bucket has left. When an outage begins, the bucket has
// at most what remained by the newest reply. A reply of the store ends the outage and does not fill
// the bucket, because the next reply may be late again.
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

// undoInOutage undoes a take that takeInOutage has admitted. If a reply has ended the outage since,
// the local bucket does not get the events back.
func (a account) undoInOutage(cost int64) {
	if a.inOutage {
		a.local += cost
	}
}

// atLocalLimit reports whether the local bucket of the account is empty, and the account was used
// lately. Such an account is not evicted: a new account of the key would have a full bucket.
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

// addDebt adds cost events to the debt. They were admitted at now, and no request under way carries
// them. The next request settles the whole debt, as far as the store has events left: otherwise the
// key could use these events again. A debt is sent once. If its outcome is unknown, it is dropped.
// The debt is one limit at most. addDebt drops the rest, and returns how many events it has
// dropped.
func (a account) addDebt(r *limiter.Rule, now instant, cost int64) (dropped int64) {
	if dropped = a.dropPassedDebt(r, now); a.debt == 0 {
		a.debtAfter = uint32(min(a.sinceBase(now)/1000, math.MaxUint32))
	}
	debt := min(int64(a.debt)+cost, r.Capacity(), limiter.MaxMore)
	dropped += int64(a.debt) + cost - debt
	a.debt = uint32(debt)
	return dropped
}

// dropPassedDebt drops the debt that counts no longer, because its window has passed or the bucket
// has accrued as many events since. It drops nothing while a request is under way, which may settle
// the debt. It returns how many events it has dropped.
func (a account) dropPassedDebt(r *limiter.Rule, now instant) (dropped int64) {
	if a.debt == 0 || a.requesting {
		return 0
	}
	if dropped = a.passedDebt(r, now); dropped > 0 && dropped < int64(a.debt) {
		took := math.Ceil(float64(dropped) / float64(a.debt) * float64(a.debtAge(now)) / 1000)
		a.debtAfter = uint32(min(float64(a.debtAfter)+took, math.MaxUint32))
	}
	return a.reduceDebt(dropped)
}

// debtAge returns how long ago the first event of the debt was admitted, in µs.
func (a account) debtAge(now instant) int64 {
	return a.sinceBase(now) - int64(a.debtAfter)*1000
}

// passedDebt returns how many events of the debt have left the window since.
//
// The account knows the number of these events, and when the first and the newest were admitted. It
// assumes that the others were evenly spread between the two. In a fixed window, all events leave
// together. So the debt of a key in steady use is what the key used in the last window.
func (a account) passedDebt(r *limiter.Rule, now instant) int64 {
	age, window := a.debtAge(now), r.FillTime().Microseconds()
	passed := age - window
	switch {
	case r.Algorithm.Kind == limiter.FixedWindow && a.seenAt != 0:
		if r.UntilNext(a.seenAt+limiter.Instant(a.debtAfter)*1000) > age {
			return 0
		}
		return int64(a.debt)
	case passed >= 0 && a.sinceRequest(now) >= window:
		return int64(a.debt)
	case passed > window/debtSteps:
		return int64(float64(passed) / float64(age) * float64(a.debt))
	}
	return 0
}

// debtSteps is the number of steps in which the debt of a window is dropped. With more steps, the
// rounding of debtAfter to ms would matter.
const debtSteps = 64

// reduceDebt takes events that are settled or dropped off the debt. It returns how many of them the
// debt still had.
func (h *hot) reduceDebt(events int64) (were int64) {
	were = min(events, int64(h.debt))
	h.debt -= uint32(were)
	return were
}
