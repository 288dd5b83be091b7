package limiter

// answer writes the answer to a take that was decided here and took cost events.
func (a *Account) answer(d *Decision, r *Rule, now Instant, from Source, cost int64) {
	m := momentOf(now)
	*d = Decision{
		OK: from != FromMemory, Source: from, At: now, Limit: r.capacity, Remaining: a.show(r, m, cost), RetryAt: now,
	}
	d.ResetAt = a.resetAt(r, now, m) // of what is shown now
}

// show returns what clients are told to remain after cost events: never more than before, but for what has accrued since.
func (a *Account) show(r *Rule, m moment, cost int64) int64 {
	if a.seenAt == 0 { // only credit is spent before the store has said anything
		return max(0, r.capacity-int64(a.owed-a.paid))
	}
	if accrued := a.accrued(r, m); accrued > 0 {
		a.shown += accrued
		a.shownAt = m
	}
	a.shown = max(0, min(a.shown-cost, a.total(r)))
	return a.shown
}

// accrued returns how many events the limit has given since clients were last told what remains.
func (a *Account) accrued(r *Rule, m moment) int64 {
	if r.Algorithm.Kind == FixedWindow {
		return 0
	}
	if elapsed := m.since(a.shownAt); elapsed > 0 {
		return mulDiv(elapsed, r.refill, r.per)
	}
	return 0
}

// total returns what is leased and what the store had left.
func (a *Account) total(r *Rule) int64 { return a.left[0] + a.left[1] + max(0, r.capacity-a.used) }

// resetAt returns the instant at which the key will be back to its full limit.
func (a *Account) resetAt(r *Rule, now Instant, m moment) Instant {
	switch r.Algorithm.Kind {
	case TokenBucket:
		return now.plus(mulDivUp(r.capacity-a.shown, r.per, r.refill))
	case SlidingWindowLog:
		return now + Instant(r.window)
	case SlidingWindow:
		return now + Instant(a.untilEnd(r, m)+r.window)
	}
	return now + Instant(a.untilEnd(r, m))
}

// untilEnd returns how long the window or sub-window lasts in which the store has answered last, in µs.
func (a *Account) untilEnd(r *Rule, m moment) int64 {
	length := r.window
	if r.Algorithm.Kind == SlidingWindow {
		length = r.sub
	}
	return max(0, length-a.seenAt.into(length)-m.since(a.askedAt))
}
