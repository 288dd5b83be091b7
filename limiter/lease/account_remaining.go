package lease

import "github.com/fleetlimit/fleetlimit/limiter"

// decide sets d to the decision on a take that the account admits or denies. remaining is how many
// events clients are told remain after the take. The fields are set one by one, because a composite
// literal would be built elsewhere and copied.
func (a account) decide(d *limiter.Decision, r *limiter.Rule, now instant, from limiter.Source, remaining int64) {
	d.OK, d.Breach, d.Source = from != limiter.FromRememberedDenial, false, from
	d.At, d.Limit, d.Remaining = now.forCaller(), r.Capacity(), remaining
	d.RetryAt, d.ResetAt = d.At, a.resetAt(r, now, remaining).forCaller()
}

// peek sets d to the decision that a take of cost events would get, and spends nothing. The take is
// allowed unless the remembered denial denies it. peek reports false if the account does not know
// enough: the store has not replied yet, or the limit has changed.
func (a account) peek(r *limiter.Rule, now instant, cost int64, d *limiter.Decision) bool {
	if a.seenAt == 0 || !a.appliesTo(r) {
		return false
	}
	if a.denies(r, now, cost) {
		a.repeatDenial(d, r, now, cost)
	} else {
		a.decide(d, r, now, limiter.FromLease, a.showAll(r, now))
	}
	return true
}

// newestRemaining returns how many events remain by the newest reply of the store and what has
// accrued since, but at most as many as clients were told.
func (a account) newestRemaining(r *limiter.Rule, now instant) int64 {
	age := a.sinceBase(now)
	if a.seenAt == 0 || a.windowPassed(r, now) || !r.Algorithm.Kind.Refills() && age >= r.Limit.Window.Microseconds() {
		return r.Capacity()
	}
	used := a.used
	if r.Algorithm.Kind.Refills() {
		accrued, _ := r.Accrue(age)
		used -= min(used, accrued)
	}
	a.accrue(r, now)
	return max(0, min(a.shown, a.leased(r, now)+r.Capacity()-used, r.Capacity()))
}

// showAll returns how many events clients are told remain if no take spends any.
func (a account) showAll(r *limiter.Rule, now instant) int64 {
	return a.show(r, now, 0, a.leased(r, now))
}

// show returns how many events clients are told remain after a take of cost events. leased is how
// many events of the leases may be spent after the take. Within a window, the result rises only by
// what has accrued.
func (a account) show(r *limiter.Rule, now instant, cost, leased int64) int64 {
	if a.inOutage {
		a.local -= cost
		return max(0, a.local)
	}
	if a.seenAt == 0 || a.windowPassed(r, now) {
		return r.Capacity()
	}
	a.accrue(r, now)
	a.shown = max(0, min(a.shown-cost, a.total(r, leased)))
	return a.shown
}

// addShown adds events that an undone take has put back into a lease to those that clients are told
// remain.
func (a account) addShown(events int64) {
	if a.inOutage {
		a.local += events
	} else {
		a.shown += events
	}
}

// served notes that the store has served cost events to a waiter. It returns how many events
// clients are told remain after that.
func (h *hot) served(cost int64) int64 {
	h.shown = max(0, h.shown-cost)
	return h.shown
}

// cancelServed notes that the store is to take cost events back.
func (h *hot) cancelServed(cost int64) {
	h.shown += cost
	h.used = max(0, h.used-cost)
}

// accrue adds the events that have accrued since shownAt to shown. It keeps the fraction of the
// next event, so nothing is lost however often it is called.
func (h *hot) accrue(r *limiter.Rule, now instant) {
	if r.Algorithm.Kind == limiter.FixedWindow {
		return
	}
	if events, took := r.Accrue(h.sinceShown(now)); events > 0 {
		h.shown += min(events, r.Capacity())
		h.shownAt += float32(took)
	}
}

func (h *hot) sinceShown(now instant) int64 {
	return max(0, now.since(h.base)-int64(h.shownAt))
}

// total returns how many events the leases have together with the store. It is the limit at most,
// although a bucket and its leases may have more, because the bucket refills while leases are out.
func (h *hot) total(r *limiter.Rule, leased int64) int64 {
	return min(r.Capacity(), leased+max(0, r.Capacity()-h.used))
}

// resetAt returns the instant at which the key is back to its full limit, if remaining events are
// left now.
func (h *hot) resetAt(r *limiter.Rule, now instant, remaining int64) instant {
	var wait int64
	switch r.Algorithm.Kind {
	case limiter.TokenBucket:
		wait = r.TimeFor(r.Capacity() - remaining)
	case limiter.SlidingWindowLog:
		wait = r.Limit.Window.Microseconds()
	case limiter.SlidingWindow:
		wait = h.untilNext(r, now) + r.Limit.Window.Microseconds()
	default:
		wait = h.untilNext(r, now)
	}
	return now.plus(wait)
}
