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

	counts []int64 // ring of the n+1 sub-windows that reach into the window; allocated once
	cur    int     // the current one in counts; the one after it, going round, is the oldest
	full   int64   // the sum of counts but for the oldest
}

// settle moves s into the sub-window of now. When the sub-windows are others, because the limit was changed or the clock
// was set back, what is used goes along into the current one.
func (s *slidingWindow) settle(r *Rule, now Instant) {
	at, setBack := s.at.follow(now)
	if !setBack {
		s.at = at
		s.advance()
	}
	if setBack || s.sub != r.sub || len(s.counts) != r.Algorithm.SubWindows+1 {
		s.restart(r, at, s.used())
	}
}

// advance lets sub-windows pass until the current one holds s.at.
func (s *slidingWindow) advance() {
	if s.sub == 0 || s.at < s.start+Instant(s.sub) {
		return
	}
	passed := int64(s.at-s.start) / s.sub
	s.start += Instant(passed * s.sub)
	if passed >= int64(len(s.counts)) {
		clear(s.counts)
		s.full = 0
		return
	}
	for range passed {
		s.cur = s.next(s.cur)
		s.counts[s.cur] = 0
		s.full -= s.counts[s.next(s.cur)]
	}
}

// restart cuts time into the sub-windows of r and holds used events in the one of at.
func (s *slidingWindow) restart(r *Rule, at Instant, used int64) {
	if n := r.Algorithm.SubWindows + 1; len(s.counts) != n {
		s.counts = make([]int64, n)
	}
	clear(s.counts)
	s.at, s.start, s.sub = at, at-Instant(at.into(r.sub)), r.sub
	s.cur, s.counts[0], s.full = 0, used, used
}

// next returns the place in the ring after i.
func (s *slidingWindow) next(i int) int {
	if i++; i < len(s.counts) {
		return i
	}
	return 0
}

// used returns how many events are in the window that ends at s.at.
func (s *slidingWindow) used() int64 {
	oldest := s.counts[s.next(s.cur)]
	if oldest == 0 {
		return s.full
	}
	return s.full + mulDivUp(oldest, s.sub-int64(s.at-s.start), s.sub)
}

// fallsTo returns the first instant at which no more than room events are in the window. room >= 0, and more than that
// are in it now.
func (s *slidingWindow) fallsTo(room int64) Instant {
	start, full, oldest := s.start, s.full, s.next(s.cur)
	for full > room { // as long as that is so, the weight of the oldest does not matter
		start += Instant(s.sub)
		oldest = s.next(oldest)
		full -= s.counts[oldest]
	}
	// The oldest is what exceeds room, so it is not zero. Of its sub microseconds, so many may still be in the window:
	left := min(s.sub, mulDiv(room-full, s.sub, s.counts[oldest]))
	return start + Instant(s.sub-left)
}

// resetAt returns the instant at which nothing is left in the window.
func (s *slidingWindow) resetAt() Instant {
	i := s.cur
	for subs := int64(len(s.counts)); subs > 0; subs-- { // that the sub-window at i still reaches into the window
		if s.counts[i] > 0 {
			return s.start + Instant(subs*s.sub)
		}
		if i--; i < 0 {
			i += len(s.counts)
		}
	}
	return s.at
}

// decide answers a take of cost events that is, or is not, allowed; the count is as it is after the answer.
func (s *slidingWindow) decide(r *Rule, ok bool, cost int64) Decision {
	d := Decision{
		OK:        ok,
		Limit:     r.capacity,
		Remaining: max(0, r.capacity-s.used()),
		RetryAt:   s.at,
		ResetAt:   s.resetAt(),
	}
	switch {
	case ok:
	case cost > r.capacity:
		d.RetryAt = Never
	default:
		d.RetryAt = s.fallsTo(r.capacity - cost)
	}
	return d
}

func (s *slidingWindow) Take(r *Rule, now Instant, cost int64) Decision {
	s.settle(r, now)
	ok := cost <= r.capacity-s.used()
	if ok {
		s.counts[s.cur] += cost
		s.full += cost
	}
	return s.decide(r, ok, cost)
}

func (s *slidingWindow) Peek(r *Rule, now Instant, cost int64) Decision {
	s.settle(r, now)
	return s.decide(r, cost <= r.capacity-s.used(), cost)
}

func (s *slidingWindow) Refund(r *Rule, now, taken Instant, cost int64) {
	s.settle(r, now)
	start, i := s.start, s.cur
	if taken >= start+Instant(s.sub) {
		return
	}
	for range s.counts {
		if taken >= start {
			back := min(cost, s.counts[i])
			s.counts[i] -= back
			if i != s.next(s.cur) {
				s.full -= back
			}
			return
		}
		start -= Instant(s.sub)
		if i--; i < 0 {
			i += len(s.counts)
		}
	}
}
