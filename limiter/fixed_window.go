package limiter

// A fixedWindow counts the events of the current window. Windows are aligned to the Unix epoch, so
// the windows of all keys end together, and twice the limit fits around a boundary.
type fixedWindow struct {
	at     Instant // the newest reading of the clock
	end    Instant // end of the current window
	window int64   // length of the current window in µs
	used   int64   // events consumed in the current window
}

func fixedWindowIn(s State) fixedWindow {
	return fixedWindow{at: Instant(s[0]), end: Instant(s[1]), window: s[2], used: s[3]}
}

func (f *fixedWindow) save(s State) {
	s[0], s[1], s[2], s[3] = int64(f.at), int64(f.end), f.window, f.used
}

// advance moves f into the window of now. If the length of windows changed or the clock was set
// back before the current window ended, the consumption moves along. advance reports whether the
// count must be written because of that.
func (f *fixedWindow) advance(r *Rule, now Instant) (moved bool) {
	at, setBack := f.at.follow(now)
	f.at = at
	if at >= f.end {
		f.used = 0
	} else if !setBack && f.window == r.window {
		return false
	}
	end := f.end
	f.window = r.window
	f.end = at + Instant(r.window-at.into(r.window))
	return setBack || f.used > 0 && f.end != end
}

// take decides a take, and consumes its cost if consume is set and the limit allows it. It reports
// whether the count is to be written: see [Count].
func (f *fixedWindow) take(d *Decision, r *Rule, now Instant, cost int64, consume bool) (write bool) {
	moved := f.advance(r, now)
	ok := cost <= r.capacity-f.used
	if ok && consume {
		f.used += cost
	}
	f.decide(d, r, ok, cost)
	return ok || moved
}

// decide writes the answer to a take. ok says whether the take is allowed, and f is as the take
// left it.
func (f *fixedWindow) decide(d *Decision, r *Rule, ok bool, cost int64) {
	if d.answer(r, f.at, f.used, ok, cost) {
		d.RetryAt = f.end
	}
	if f.used > 0 {
		d.ResetAt = f.end
	}
}

func (f *fixedWindow) refund(r *Rule, now, taken Instant, cost int64) {
	f.advance(r, now)
	if taken >= f.end-Instant(f.window) && taken < f.end {
		f.used = max(0, f.used-cost)
	}
}

// fixedCalculator is the calculator of fixed windows.
type fixedCalculator struct{}

func (fixedCalculator) size(Algorithm) int { return 4 }

func (fixedCalculator) follow(s State, r *Rule, now Instant) {
	if f := fixedWindowIn(s); f.advance(r, now) {
		f.save(s)
	}
}

func (fixedCalculator) refund(s State, r *Rule, now Instant, seen Events, cost int64) {
	f := fixedWindowIn(s)
	f.refund(r, now, seen.At, cost)
	f.save(s)
}

func (fixedCalculator) charge(s State, r *Rule, now Instant, cost int64) {
	f := fixedWindowIn(s)
	f.advance(r, now)
	f.used += chargeable(f.used, cost)
	f.save(s)
}

func (fixedCalculator) inspect(s State, r *Rule, now Instant) CountState {
	var d Decision
	f := fixedWindowIn(s)
	f.take(&d, r, now, 1, false)
	return stateOf(d, f.used)
}

func (fixedCalculator) addQuota(s State, r *Rule, now Instant, events int64) {
	f := fixedWindowIn(s)
	f.advance(r, now)
	f.used = max(0, f.used-events)
	f.save(s)
}
