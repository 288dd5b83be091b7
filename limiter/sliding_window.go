package limiter

// A slidingWindow approximates a window that ends at every instant by counts per sub-window. It
// counts the current sub-window and the n-1 before it in full. It weighs the count of the
// sub-window before these by the part of it that is still in the window. The weighed count is
// rounded up, so no fraction of an event is admitted.
//
// Sub-windows are aligned to the Unix epoch. While nothing is taken, what is used never rises from
// one microsecond to the next; fallsTo relies on it.
type slidingWindow struct {
	at    Instant // the newest reading of the clock
	start Instant // start of the current sub-window. Invariant: start <= at < start + sub
	sub   int64   // length of a sub-window in µs; 0 before the first call

	cur    int     // index of the current sub-window in counts; the next one in the ring is the oldest
	full   int64   // the sum of counts without the oldest
	counts []int64 // a ring of the n+1 sub-windows that reach into the window; part of the State
}

// slidingNumbers is how many numbers of a State come before the counts.
const slidingNumbers = 5

// slidingWindowIn returns the sliding window in s, with which it shares the counts.
func slidingWindowIn(s State) slidingWindow {
	return slidingWindow{
		at: Instant(s[0]), start: Instant(s[1]), sub: s[2], cur: int(s[3]), full: s[4], counts: s[slidingNumbers:],
	}
}

func (w *slidingWindow) save(s State) {
	s[0], s[1], s[2], s[3], s[4] = int64(w.at), int64(w.start), w.sub, int64(w.cur), w.full
}

// moves reports whether advance moves what is used into another sub-window, because the length of
// sub-windows has changed or the clock was set back. Otherwise advance only accounts for the time.
func (w *slidingWindow) moves(r *Rule, now Instant) bool {
	_, setBack := w.at.follow(now)
	return setBack || w.sub != r.sub && w.sub != 0
}

// advance moves w into the sub-window of now. If the length of sub-windows changed or the clock was
// set back, all that is used moves into that sub-window.
func (w *slidingWindow) advance(r *Rule, now Instant) {
	at, setBack := w.at.follow(now)
	if !setBack {
		w.at = at
		w.nextSubWindow()
	}
	if setBack || w.sub != r.sub {
		used := w.used()
		clear(w.counts)
		w.at, w.start, w.sub = at, at-Instant(at.into(r.sub)), r.sub
		w.cur, w.counts[0], w.full = 0, used, used
	}
}

// nextSubWindow moves on to the sub-window of w.at.
func (w *slidingWindow) nextSubWindow() {
	if w.sub == 0 || w.at < w.start+Instant(w.sub) {
		return
	}
	passed := int64(w.at-w.start) / w.sub
	w.start += Instant(passed * w.sub)
	if passed >= int64(len(w.counts)) {
		clear(w.counts)
		w.full = 0
		return
	}
	for range passed {
		w.cur = w.next(w.cur)
		w.counts[w.cur] = 0
		w.full -= w.counts[w.next(w.cur)]
	}
}

// next returns the index after i in the ring.
func (w *slidingWindow) next(i int) int {
	if i++; i < len(w.counts) {
		return i
	}
	return 0
}

// previous returns the index before i in the ring.
func (w *slidingWindow) previous(i int) int {
	if i--; i >= 0 {
		return i
	}
	return len(w.counts) - 1
}

// used returns how many events are in the window that ends at w.at.
func (w *slidingWindow) used() int64 {
	oldest := w.counts[w.next(w.cur)]
	if oldest == 0 {
		return w.full
	}
	return w.full + mulDivUp(oldest, w.sub-int64(w.at-w.start), w.sub)
}

// fallsTo returns the first instant at which at most room >= 0 events are in the window. More are
// in it now.
func (w *slidingWindow) fallsTo(room int64) Instant {
	start, full, oldest := w.start, w.full, w.next(w.cur)
	for full > room { // then too much is used, whatever the weight of the oldest count
		start += Instant(w.sub)
		oldest = w.next(oldest)
		full -= w.counts[oldest]
	}
	// With the whole oldest count, more than room events would be used, so that count is not zero.
	// left is by how many µs the window may still reach into the oldest sub-window.
	left := min(w.sub, mulDiv(room-full, w.sub, w.counts[oldest]))
	return start + Instant(w.sub-left)
}

// resetAt returns the instant at which the window is empty.
func (w *slidingWindow) resetAt() Instant {
	i := w.cur
	for subs := int64(len(w.counts)); subs > 0; subs-- { // counts[i] leaves the window subs sub-windows after start
		if w.counts[i] > 0 {
			return w.start + Instant(subs*w.sub)
		}
		i = w.previous(i)
	}
	return w.at
}

// take decides a take, and consumes its cost if consume is set and the limit allows it. It reports
// whether the count is to be written: see [Count].
func (w *slidingWindow) take(d *Decision, r *Rule, now Instant, cost int64, consume bool) (write bool) {
	moved := w.moves(r, now)
	w.advance(r, now)
	ok := cost <= r.capacity-w.used()
	if ok && consume {
		w.counts[w.cur] += cost
		w.full += cost
	}
	w.decide(d, r, ok, cost)
	return ok || moved
}

// decide writes the answer to a take. ok says whether the take is allowed, and w is as the take
// left it.
func (w *slidingWindow) decide(d *Decision, r *Rule, ok bool, cost int64) {
	if d.answer(r, w.at, w.used(), ok, cost) {
		d.RetryAt = w.fallsTo(r.capacity - cost)
	}
	d.ResetAt = w.resetAt()
}

func (w *slidingWindow) refund(r *Rule, now, taken Instant, cost int64) {
	w.advance(r, now)
	start, i := w.start, w.cur
	if taken >= start+Instant(w.sub) {
		return
	}
	for range w.counts {
		if taken >= start {
			back := min(cost, w.counts[i])
			w.counts[i] -= back
			if i != w.next(w.cur) {
				w.full -= back
			}
			return
		}
		start -= Instant(w.sub)
		i = w.previous(i)
	}
}

// addQuota gives back at most the given number of used events, those of the newest sub-windows
// first. The oldest count is weighed, so it falls by more than one for each event that is given
// back.
func (w *slidingWindow) addQuota(events int64) {
	left := max(0, w.used()-events)
	oldest := w.next(w.cur)
	for i := w.cur; i != oldest; i = w.previous(i) {
		back := min(events, w.counts[i])
		w.counts[i] -= back
		w.full -= back
		events -= back
	}
	if events > 0 && w.counts[oldest] > 0 {
		w.counts[oldest] = min(w.counts[oldest], mulDiv(left, w.sub, w.sub-int64(w.at-w.start)))
	}
}

// slidingCalculator is the calculator of sliding windows with sub-windows.
type slidingCalculator struct{}

func (slidingCalculator) size(a Algorithm) int { return slidingNumbers + max(1, a.SubWindows) + 1 }

// takeSliding is take for a sliding window. It works on a copy of the state, which is on the stack.
func (s State) takeSliding(d *Decision, r *Rule, now Instant, cost int64, consume bool) {
	var room [72]int64
	written := append(State(room[:0]), s...)
	w := slidingWindowIn(written)
	if w.take(d, r, now, cost, consume) && consume {
		w.save(written)
		copy(s, written)
	}
}

func (slidingCalculator) follow(s State, r *Rule, now Instant) {
	if w := slidingWindowIn(s); w.moves(r, now) {
		w.advance(r, now)
		w.save(s)
	}
}

func (slidingCalculator) refund(s State, r *Rule, now Instant, seen Events, cost int64) {
	w := slidingWindowIn(s)
	w.refund(r, now, seen.At, cost)
	w.save(s)
}

func (slidingCalculator) charge(s State, r *Rule, now Instant, cost int64) {
	w := slidingWindowIn(s)
	w.advance(r, now)
	cost = chargeable(w.used(), cost)
	w.counts[w.cur] += cost
	w.full += cost
	w.save(s)
}

// inspect works on a copy, too, because take changes the counts.
func (slidingCalculator) inspect(s State, r *Rule, now Instant) CountState {
	var d Decision
	var room [24]int64
	w := slidingWindowIn(append(State(room[:0]), s...))
	w.take(&d, r, now, 1, false)
	return stateOf(d, w.used())
}

func (slidingCalculator) addQuota(s State, r *Rule, now Instant, events int64) {
	w := slidingWindowIn(s)
	w.advance(r, now)
	w.addQuota(events)
	w.save(s)
}
