package limiter

// A slidingWindow approximates a window that ends at every instant by counts per sub-window: those of the current and
// the n-1 preceding ones in full, and that of the one before them weighed by the part of it that is still in the window.
// The weighed count is rounded up, so a fraction of an event is never admitted.
//
// Sub-windows are aligned to the Unix epoch. While nothing is taken, what is used only falls, from each microsecond to
// the next; fallsTo relies on it.
type slidingWindow struct {
	at    Instant // the newest reading of the clock
	start Instant // of the current sub-window. Invariant: start <= at < start + sub
	sub   int64   // its length in µs; 0 before the first call

	cur    int     // the current one in counts; the one after it, going round, is the oldest
	full   int64   // the sum of counts but for the oldest
	counts []int64 // ring of the n+1 sub-windows that reach into the window; part of the State
}

// slidingNumbers is how many numbers of a State come before the counts.
const slidingNumbers = 5

// slidingWindowIn returns the sliding window that s holds; they share the counts.
func slidingWindowIn(s State) slidingWindow {
	return slidingWindow{
		at: Instant(s[0]), start: Instant(s[1]), sub: s[2], cur: int(s[3]), full: s[4], counts: s[slidingNumbers:],
	}
}

// save writes what s does not share with w into it.
func (w *slidingWindow) save(s State) {
	s[0], s[1], s[2], s[3], s[4] = int64(w.at), int64(w.start), w.sub, int64(w.cur), w.full
}

// advance moves w into the sub-window of now. When the sub-windows are others, because the limit was changed or the clock
// was set back, what is used goes along into the current one.
func (w *slidingWindow) advance(r *Rule, now Instant) {
	at, setBack := w.at.follow(now)
	if !setBack {
		w.at = at
		w.nextSubWindow()
	}
	if setBack || w.sub != r.sub {
		w.restart(r, at, w.used())
	}
}

// nextSubWindow lets sub-windows pass until the current one holds w.at.
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

// restart cuts time into the sub-windows of r and holds used events in the one of at.
func (w *slidingWindow) restart(r *Rule, at Instant, used int64) {
	clear(w.counts)
	w.at, w.start, w.sub = at, at-Instant(at.into(r.sub)), r.sub
	w.cur, w.counts[0], w.full = 0, used, used
}

// next returns the place in the ring after i.
func (w *slidingWindow) next(i int) int {
	if i++; i < len(w.counts) {
		return i
	}
	return 0
}

// used returns how many events are in the window that ends at w.at.
func (w *slidingWindow) used() int64 {
	oldest := w.counts[w.next(w.cur)]
	if oldest == 0 {
		return w.full
	}
	return w.full + mulDivUp(oldest, w.sub-int64(w.at-w.start), w.sub)
}

// fallsTo returns the first instant at which no more than room events are in the window. room >= 0, and more than that
// are in it now.
func (w *slidingWindow) fallsTo(room int64) Instant {
	start, full, oldest := w.start, w.full, w.next(w.cur)
	for full > room { // as long as that is so, the weight of the oldest does not matter
		start += Instant(w.sub)
		oldest = w.next(oldest)
		full -= w.counts[oldest]
	}
	// The oldest is what exceeds room, so it is not zero. Of its sub microseconds, so many may still be in the window:
	left := min(w.sub, mulDiv(room-full, w.sub, w.counts[oldest]))
	return start + Instant(w.sub-left)
}

// resetAt returns the instant at which nothing is left in the window.
func (w *slidingWindow) resetAt() Instant {
	i := w.cur
	for subs := int64(len(w.counts)); subs > 0; subs-- { // that the sub-window at i still reaches into the window
		if w.counts[i] > 0 {
			return w.start + Instant(subs*w.sub)
		}
		if i--; i < 0 {
			i += len(w.counts)
		}
	}
	return w.at
}

// decide writes the answer to a take of cost events that is, or is not, allowed; the count is as it is after the answer.
func (w *slidingWindow) decide(d *Decision, r *Rule, ok bool, cost int64) {
	if d.answer(r, w.at, w.used(), ok, cost) {
		d.RetryAt = w.fallsTo(r.capacity - cost)
	}
	d.ResetAt = w.resetAt()
}

func (w *slidingWindow) take(d *Decision, r *Rule, now Instant, cost int64) {
	w.advance(r, now)
	ok := cost <= r.capacity-w.used()
	if ok {
		w.counts[w.cur] += cost
		w.full += cost
	}
	w.decide(d, r, ok, cost)
}

func (w *slidingWindow) peek(d *Decision, r *Rule, now Instant, cost int64) {
	w.advance(r, now)
	w.decide(d, r, cost <= r.capacity-w.used(), cost)
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
		if i--; i < 0 {
			i += len(w.counts)
		}
	}
}
