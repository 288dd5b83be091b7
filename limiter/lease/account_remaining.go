package lease

import "github.com/fleetlimit/fleetlimit/limiter"

// decide fills in d for a take of cost events that the account decided. The fields are set one by
// one, as a literal would be built elsewhere and copied.
func (a account) decide(d *limiter.Decision, r *limiter.Rule, now instant, from limiter.Source, cost int64) {
	remaining := a.show(r, now, cost)
	d.OK, d.Breach, d.Source = from != limiter.FromRememberedDenial, false, from
	d.At, d.Limit, d.Remaining = now.forCaller(), r.Capacity(), remaining
	d.RetryAt, d.ResetAt = d.At, a.resetAt(r, now).forCaller() // of what is shown now
}

// peek decides a take of cost events into d and spends nothing: a take is allowed unless a denial
// is remembered. It reports whether the account knows enough.
func (a account) peek(r *limiter.Rule, now instant, cost int64, d *limiter.Decision) bool {
	if a.seenAt == 0 || !a.appliesTo(r) {
		return false
	}
	if a.denies(now, cost) {
		a.repeatDenial(d, r, now, cost)
	} else {
		a.decide(d, r, now, limiter.FromLease, 0)
	}
	return true
}

// takeLate decides a take that the store is too busy to answer in time, by the newest known state:
// what clients were told remains, less what was admitted since. Of a key that the store has not
// replied about, it admits at most the limit per window. The take goes on waiting for the store,
// whose reply then replaces what was known: see withhold.
func (a account) takeLate(r *limiter.Rule, now instant, cost int64, d *limiter.Decision) {
	if !a.appliesTo(r) {
		a.switchLimit(r)
	}
	left := a.newestRemaining(r, now)
	ok := cost <= left
	if ok {
		a.shown -= cost
	}
	retryAt, resetAt := now, a.resetAt(r, now)
	switch {
	case ok:
	case cost > r.Capacity():
		retryAt = never
	case a.denied && a.retryAt > now:
		retryAt = a.retryAt
	case r.Algorithm.Kind == limiter.TokenBucket:
		retryAt = now.plus(r.TimeFor(cost - left))
	default:
		retryAt = resetAt
	}
	*d = limiter.Decision{
		OK: ok, Source: limiter.FromKnownState, At: now.forCaller(), Limit: r.Capacity(), Remaining: a.shown,
		RetryAt: retryAt.forCaller(), ResetAt: resetAt.forCaller(),
	}
}

// newestRemaining returns how many events remain by the newest known state.
func (a account) newestRemaining(r *limiter.Rule, now instant) int64 {
	age, window := a.sinceBase(now), r.Limit.Window.Microseconds()
	if a.seenAt == 0 || a.windowPassed(r, now) || r.Algorithm.Kind != limiter.TokenBucket && age >= window {
		if a.basis != reported && a.sinceShown(now) < window {
			return a.shown
		}
		if a.seenAt == 0 {
			a.rebase(now)
		}
		a.basis, a.shown, a.shownAt = assumed, max(0, r.Capacity()-a.debt()), float32(now.since(a.base))
		return a.shown
	}
	used := a.used
	if r.Algorithm.Kind == limiter.TokenBucket {
		accrued, _ := r.Accrue(age)
		used -= min(used, accrued)
	}
	a.accrue(r, now)
	a.shown = max(0, min(a.shown, a.held()+r.Capacity()-used, r.Capacity()))
	return a.shown
}

// show returns what clients are told remains after cost events. It never rises, except by what
// has accrued.
func (a account) show(r *limiter.Rule, now instant, cost int64) int64 {
	if a.basis == local {
		a.shown -= cost
		return max(0, a.shown)
	}
	if a.seenAt == 0 || a.windowPassed(r, now) { // only credit is spent before the store's first reply about a window
		return max(0, r.Capacity()-a.debt())
	}
	a.accrue(r, now)
	a.shown = max(0, min(a.shown-cost, a.total(r)))
	return a.shown
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

// withhold reduces the remaining events that clients are shown.
func (h *hot) withhold(events int64) { h.shown = max(0, h.shown-events) }

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
func (h *hot) total(r *limiter.Rule) int64 {
	return min(r.Capacity(), h.held()+max(0, r.Capacity()-h.used))
}

// resetAt returns the instant at which the key is back to its full limit.
func (h *hot) resetAt(r *limiter.Rule, now instant) instant {
	var wait int64
	switch r.Algorithm.Kind {
	case limiter.TokenBucket:
		wait = r.TimeFor(r.Capacity() - h.shown)
	case limiter.SlidingWindowLog:
		wait = r.Limit.Window.Microseconds()
	case limiter.SlidingWindow:
		wait = h.untilNext(r, now) + r.Limit.Window.Microseconds()
	default:
		wait = h.untilNext(r, now)
	}
	return now.plus(wait)
}

// storeTime returns what the store's clock reads at now, or a little more.
func (h *hot) storeTime(now instant) limiter.Instant {
	return h.seenAt + limiter.Instant(h.sinceBase(now))
}

// untilNext returns how long it is to the next window or sub-window, in µs, as far as the node
// knows.
func (h *hot) untilNext(r *limiter.Rule, now instant) int64 {
	if h.seenAt == 0 {
		return r.Period()
	}
	return r.UntilNext(h.storeTime(now))
}

// windowPassed reports whether a fixed window has ended since the newest reply, so that what was
// used in it no longer counts.
func (h *hot) windowPassed(r *limiter.Rule, now instant) bool {
	return r.Algorithm.Kind == limiter.FixedWindow && r.UntilNext(h.seenAt) <= h.sinceBase(now)
}
