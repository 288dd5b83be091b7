package lease

import (
	"math"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// A basis is what the events are that an account shows as remaining.
type basis uint8

const (
	reported basis = iota // the newest reply of the store
	local                 // the local bucket, as the store is in an outage: see takeInOutage
)

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
			a.setLocal(bucket, left)
		case cost > r.Capacity():
			d.OK, retryAt = false, never
		case cost > bucket.Capacity:
			d.OK, retryAt = false, retry
		default:
			d.OK, retryAt = false, now.plus(bucket.TimeFor(cost-left)-a.sinceShown(now))
		}
		d.Remaining = min(max(0, left), d.Limit)
	}
	d.RetryAt = retryAt.forCaller()
	d.ResetAt = d.RetryAt // of an unknown count, it is not known
	d.Breach = !d.OK && a.breaches(r, now)
}

// noteRefusal notes that a take at now has no request, as the lender is known to be in an outage.
// It shows demand as one with a request does.
func (a account) noteRefusal(r *limiter.Rule, now instant, cost int64) {
	a.updateDemand(r, now, cost)
	a.noteRequest(now)
}

// leftOf returns how many events the local bucket has, which is what shown is in an outage. The
// bucket begins with no more than is known to be left, and lacks what it lacked when a reply of the
// store ended it: such a reply may be late, or be followed by others that are.
func (a account) leftOf(bucket limiter.LocalBucket, r *limiter.Rule, now instant) int64 {
	if a.basis != local {
		left, at := min(a.newestRemaining(r, now), bucket.Capacity), now
		if lacks := bucket.Lacks(a.localFull.since(now)); bucket.Capacity-lacks < left {
			left, at = bucket.Capacity-lacks, a.localFull.plus(-bucket.TimeFor(lacks))
		}
		a.basis, a.shown = local, left
		a.shownAt = roundedUp(float64(at.since(a.base)))
	} else if events, took := bucket.Accrue(a.sinceShown(now)); events > 0 {
		a.shown += min(events, bucket.Capacity)
		a.shownAt = roundedUp(float64(a.shownAt) + float64(took))
		a.forgetState(r, now)
	}
	a.shown = min(a.shown, bucket.Capacity)
	return a.shown
}

// setLocal sets how many events the local bucket has, after a take or its undoing.
func (a account) setLocal(bucket limiter.LocalBucket, left int64) {
	a.shown = left
	a.localFull = a.base.plus(int64(a.shownAt)).plus(bucket.TimeFor(max(0, bucket.Capacity-left)))
}

// forgetState forgets the newest reply of the store if it is so old that the limit is full again,
// and has the account's times count from shownAt, or from when its debt began. A float32 has a
// precision of 8 ms a day after base: in a long outage, each rounding would cost a bucket as much.
func (a account) forgetState(r *limiter.Rule, now instant) {
	passed := 2 * max(r.FillTime(), r.Limit.Window).Microseconds() // of a sliding window, a sub-window more
	if a.sinceBase(now) < passed || a.requesting || a.held() > 0 {
		return
	}
	at := float64(a.shownAt)
	base := a.base.plus(int64(at))
	if a.owed > 0 {
		base = min(base, a.base.plus(int64(a.owedAfter)*1000))
	}
	base -= base % 1000
	after := at - float64(base.since(a.base))
	a.used, a.seenAt = 0, 0
	a.rebase(base)
	a.shownAt = roundedUp(after)
}

// localLacks reports whether the local bucket is not full.
func (h *hot) localLacks(bucket limiter.LocalBucket, now instant) bool {
	accrued, _ := bucket.Accrue(h.sinceShown(now))
	return h.shown+min(accrued, bucket.Capacity) < bucket.Capacity
}

// roundedUp returns us as a float32 that is not less: a bucket that is asked a million times must
// not gain by being rounded.
func roundedUp(us float64) float32 {
	f := float32(us)
	if float64(f) < us {
		f = math.Nextafter32(f, math.MaxFloat32)
	}
	return f
}

// undoInOutage undoes a take that takeInOutage has admitted. A bucket that a reply has ended since
// does not get it back.
func (a account) undoInOutage(bucket limiter.LocalBucket, cost int64) {
	if a.basis == local {
		a.setLocal(bucket, a.shown+cost)
	}
}

// atLocalLimit reports whether the local bucket of the account is empty, and was used lately: a
// new account of the key would have a full one.
func (a account) atLocalLimit(now instant) bool {
	return a.basis == local && a.shown < 1 && now.since(a.idleSince(now)) < idleFor
}

// owe notes that cost events were admitted at now which the store has neither debited nor will by a
// request under way. The next request has them debited as far as there are any left: all at once,
// as the key could use again what is not debited yet, and at most once, as they are forgotten if
// the outcome is unknown. It returns how many events are not owed any more, or never were, as that
// is one limit at most.
func (a account) owe(r *limiter.Rule, now instant, cost int64) (dropped int64) {
	if dropped = a.dropOwed(r, now); a.owed == 0 {
		a.owedAfter = uint32(min(a.sinceBase(now)/1000, math.MaxUint32))
	}
	owed := min(int64(a.owed)+cost, r.Capacity(), limiter.MaxMore)
	dropped += int64(a.owed) + cost - owed
	a.owed, a.inDebt = uint32(owed), true
	return dropped
}

// dropOwed drops what is owed of a window that has passed, or that a bucket has got back since, but
// not while a request may have it debited. It returns how many events that are.
func (a account) dropOwed(r *limiter.Rule, now instant) (dropped int64) {
	if !a.inDebt || a.owed == 0 || a.requesting { // nearly always the first; else the cold half is needed
		return 0
	}
	if dropped = a.passedOwed(r, now); dropped > 0 && dropped < int64(a.owed) {
		took := math.Ceil(float64(dropped) / float64(a.owed) * float64(a.sinceOwed(now)) / 1000)
		a.owedAfter = uint32(min(float64(a.owedAfter)+took, math.MaxUint32))
	}
	return a.paidOwed(dropped)
}

// sinceOwed returns for how many µs the oldest debt has been owed.
func (a account) sinceOwed(now instant) int64 {
	return a.sinceBase(now) - int64(a.owedAfter)*1000
}

// passedOwed returns how many of the events that are owed have left the window since.
//
// Only their number is known, and when the first and the newest were admitted. Unless a fixed
// window has passed, those between are assumed to be evenly spread. So a key in steady use owes
// what it used in the last window.
func (a account) passedOwed(r *limiter.Rule, now instant) int64 {
	age, window := a.sinceOwed(now), r.FillTime().Microseconds()
	passed := age - window
	switch {
	case r.Algorithm.Kind == limiter.FixedWindow && a.seenAt != 0:
		if r.UntilNext(a.seenAt+limiter.Instant(a.owedAfter)*1000) > age {
			return 0
		}
		return int64(a.owed)
	case passed >= 0 && a.sinceRequest(now) >= window:
		return int64(a.owed)
	case passed > window/owedSteps:
		return int64(float64(passed) / float64(age) * float64(a.owed))
	}
	return 0
}

// owedSteps is in how many steps a window drops what is owed. With more, it would matter that
// owedAfter is rounded to ms.
const owedSteps = 64

// paidOwed notes that events of what is owed are debited, or that they must not be any more. It
// returns how many were still owed.
func (a account) paidOwed(events int64) (paid int64) {
	if !a.inDebt {
		return 0
	}
	paid = min(events, int64(a.owed))
	a.owed -= uint32(paid)
	a.inDebt = a.owed > 0
	return paid
}
