package lease

import "github.com/fleetlimit/fleetlimit/limiter"

// decide fills in d for a take that the account decided. remaining is what clients are told remains
// after it. The fields are set one by one, as a literal would be built elsewhere and copied.
func (a account) decide(d *limiter.Decision, r *limiter.Rule, now instant, from limiter.Source, remaining int64) {
	d.OK, d.Breach, d.Source = from != limiter.FromRememberedDenial, false, from
	d.At, d.Limit, d.Remaining = now.forCaller(), r.Capacity(), remaining
	d.RetryAt, d.ResetAt = d.At, a.resetAt(r, now, remaining).forCaller()
}

// peek decides a take of cost events into d and spends nothing: a take is allowed unless a denial
// is remembered. It reports whether the account knows enough.
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

// newestRemaining returns how many events remain by the newest reply of the store: what clients
// were told remains, less what was admitted since.
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

// showAll returns what clients are told remains.
func (a account) showAll(r *limiter.Rule, now instant) int64 {
	return a.show(r, now, 0, a.leased(r, now))
}

// show returns what clients are told remains after cost events. leased is what may be spent of the
// leases after them. The answer never rises, except by what has accrued.
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

// addShown adds events that a take has given back to what clients are told.
func (a account) addShown(events int64) {
	if a.inOutage {
		a.local += events
	} else {
		a.shown += events
	}
}

// served notes that the store served cost events to a waiter, and returns what remains after it.
func (h *hot) served(cost int64) int64 {
	h.shown = max(0, h.shown-cost)
	return h.shown
}

// cancelServed notes that what the store served is canceled.
func (h *hot) cancelServed(cost int64) {
	h.shown += cost
	h.used = max(0, h.used-cost)
}

// accrue adds the events that the rate has given since shownAt. The fraction of the next one is
// kept, so nothing is lost however often this is called.
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

// total returns the events of the leases and those that the store had left. It is the limit at
// most, though a bucket refills while its leases are out.
func (h *hot) total(r *limiter.Rule, leased int64) int64 {
	return min(r.Capacity(), leased+max(0, r.Capacity()-h.used))
}

// resetAt returns the instant at which the key is back to its full limit, of which this number of
// events remains.
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
