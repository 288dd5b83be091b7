package lease

import "github.com/fleetlimit/fleetlimit/limiter"

// answer writes the answer to a take that was decided here and took cost events.
func (a account) answer(d *limiter.Decision, r *limiter.Rule, now limiter.Instant, from limiter.Source, cost int64) {
	remaining := a.show(r, now, cost)
	d.OK, d.Breach, d.Source = from != limiter.FromRememberedDenial, false, from // one by one: a whole Decision would be made elsewhere and copied
	d.At, d.Limit, d.Remaining = now, r.Capacity(), remaining
	d.RetryAt, d.ResetAt = now, a.resetAt(r, now) // of what is shown now
}

// Peek answers a take of cost events at now in d from what is known here, and takes nothing: a take is allowed unless a denial is
// remembered. It reports whether enough is known.
func (a account) Peek(r *limiter.Rule, now limiter.Instant, cost int64, d *limiter.Decision) bool {
	if a.seenAt == 0 || !a.AppliesTo(r) {
		return false
	}
	if a.Denies(now, cost) {
		a.repeatDenial(d, r, now, cost)
	} else {
		a.answer(d, r, now, limiter.FromLease, 0)
	}
	return true
}

// show returns what clients are told to remain after cost events: never more than before, but for what has accrued since.
func (a account) show(r *limiter.Rule, now limiter.Instant, cost int64) int64 {
	if a.seenAt == 0 || a.passed(r, now) { // only credit is spent before the store has said anything about the window
		return max(0, r.Capacity()-a.debt())
	}
	a.accrue(r, now)
	a.shown = max(0, min(a.shown-cost, a.total(r)))
	return a.shown
}

// Withhold has clients told that so many events fewer remain.
func (b *hot) Withhold(events int64) { b.shown = max(0, b.shown-events) }

// accrue adds the events that the limit has given since clients were last told what remains. What has accrued of the next one
// stays: however often a key is asked about, nothing of it is lost.
func (b *hot) accrue(r *limiter.Rule, now limiter.Instant) {
	if r.Algorithm.Kind == limiter.FixedWindow {
		return
	}
	if events, took := r.Accrue(b.sinceShown(now)); events > 0 {
		b.shown += min(events, r.Capacity())
		b.shownAt += float32(took)
	}
}

// sinceShown returns how many µs ago clients were told what remains, or what has accrued was added.
func (b *hot) sinceShown(now limiter.Instant) int64 {
	return max(0, int64(now-b.heardAt)-int64(b.shownAt))
}

// total returns what is leased and what the store had left: the limit at most, though a bucket refills while its leases are out.
func (b *hot) total(r *limiter.Rule) int64 {
	return min(r.Capacity(), b.held()+max(0, r.Capacity()-b.used))
}

// resetAt returns the instant at which the key will be back to its full limit.
func (b *hot) resetAt(r *limiter.Rule, now limiter.Instant) limiter.Instant {
	switch r.Algorithm.Kind {
	case limiter.TokenBucket:
		return r.AccruedAt(now, r.Capacity()-b.shown)
	case limiter.SlidingWindowLog:
		return now + limiter.Instant(r.Limit.Window.Microseconds())
	case limiter.SlidingWindow:
		return now + limiter.Instant(b.untilNext(r, now)+r.Limit.Window.Microseconds())
	}
	return now + limiter.Instant(b.untilNext(r, now))
}

// untilNext returns how long it is to the next window or sub-window, in µs, as far as is known here.
func (b *hot) untilNext(r *limiter.Rule, now limiter.Instant) int64 {
	if b.seenAt == 0 {
		return r.Period()
	}
	return r.UntilNext(b.seenAt + limiter.Instant(b.sinceHeard(now)))
}

// untilEnd returns how long the window or sub-window lasts in which the store has answered last, in µs; 0 when it has passed.
func (b *hot) untilEnd(r *limiter.Rule, now limiter.Instant) int64 {
	return max(0, r.UntilNext(b.seenAt)-b.sinceHeard(now))
}
