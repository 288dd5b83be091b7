package lease

import "github.com/fleetlimit/fleetlimit/limiter"

// TakeLate decides a take of cost events at now that the store has not answered in time because too much waits for it: by the
// newest state that is known, which is what clients were told last to remain, less what was admitted since. Of a key that the
// store has said nothing about, no more than the limit is admitted in a window. The take goes on waiting for the store where it
// can; what it is told then takes the place of what was known ([Balance.Withhold]).
func (a account) TakeLate(r *limiter.Rule, now limiter.Instant, cost int64, d *limiter.Decision) {
	if !a.AppliesTo(r) {
		a.switchLimit(r)
	}
	left := a.known(r, now)
	ok := cost <= left
	if ok {
		a.shown -= cost
	}
	*d = limiter.Decision{OK: ok, Source: limiter.FromKnownState, At: now, Limit: r.Capacity(), Remaining: a.shown, RetryAt: now, ResetAt: a.resetAt(r, now)}
	switch {
	case ok:
	case cost > r.Capacity():
		d.RetryAt = limiter.Never
	case a.denies && a.retryAt > now:
		d.RetryAt = a.retryAt
	case r.Algorithm.Kind == limiter.TokenBucket:
		d.RetryAt = r.AccruedAt(now, cost-left)
	default:
		d.RetryAt = d.ResetAt
	}
}

// known returns how many events are left by the newest state that is known.
func (a account) known(r *limiter.Rule, now limiter.Instant) int64 {
	age := a.sinceHeard(now)
	if a.seenAt == 0 || a.passed(r, now) || r.Algorithm.Kind != limiter.TokenBucket && age >= r.Limit.Window.Microseconds() {
		if a.guesses && a.sinceShown(now) < r.Limit.Window.Microseconds() {
			return a.shown
		}
		if a.seenAt == 0 { // its times count from here
			a.hear(now)
		}
		a.guesses, a.shown, a.shownAt = true, max(0, r.Capacity()-a.debt()), float32(now-a.heardAt)
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
