package limiter

// A State is a [Count] as numbers, all zero without consumption. Stores can keep millions of them
// in memory without pointers, which costs the garbage collector nothing. Its length is the
// [Algorithm.StateSize] of the rules' algorithm.
type State []int64

var _ Count = State(nil)

// StateSize returns the length of a State under a. It is 0 for the sliding window log, which grows
// with what it remembers: use [NewCount].
func (a Algorithm) StateSize() int {
	switch a.Kind {
	case TokenBucket:
		return 4
	case FixedWindow:
		return 4
	case SlidingWindow:
		return slidingNumbers + max(1, a.SubWindows) + 1
	}
	return 0
}

// Take implements [Count].
func (s State) Take(r *Rule, now Instant, cost int64) Decision { return s.take(r, now, cost, true) }

// Peek implements [Count].
func (s State) Peek(r *Rule, now Instant, cost int64) Decision { return s.take(r, now, cost, false) }

// Follow implements [Count].
func (s State) Follow(r *Rule, now Instant) {
	switch r.Algorithm.Kind {
	case TokenBucket:
		if b := bucketIn(r, s); b.advance(r, now) {
			b.save(r, s)
		}
	case FixedWindow:
		if f := fixedWindowIn(s); f.advance(r, now) {
			f.save(s)
		}
	default:
		if w := slidingWindowIn(s); w.moves(r, now) {
			w.advance(r, now)
			w.save(s)
		}
	}
}

// take decides a take, and consumes its cost if consume is set and the limit allows it.
func (s State) take(r *Rule, now Instant, cost int64, consume bool) (d Decision) {
	switch r.Algorithm.Kind {
	case TokenBucket:
		b := bucketIn(r, s)
		if b.take(&d, r, now, cost, consume) && consume {
			b.save(r, s)
		}
	case FixedWindow:
		f := fixedWindowIn(s)
		if f.take(&d, r, now, cost, consume) && consume {
			f.save(s)
		}
	default:
		s.takeSliding(&d, r, now, cost, consume)
	}
	return d
}

// takeSliding is take for a sliding window counter. Its copy of the state is on the stack.
func (s State) takeSliding(d *Decision, r *Rule, now Instant, cost int64, consume bool) {
	var room [72]int64
	written := append(State(room[:0]), s...)
	w := slidingWindowIn(written)
	if w.take(d, r, now, cost, consume) && consume {
		w.save(written)
		copy(s, written)
	}
}

// Refund implements [Count].
func (s State) Refund(r *Rule, now Instant, seen Events, cost int64) {
	switch r.Algorithm.Kind {
	case TokenBucket:
		b := bucketIn(r, s)
		b.advance(r, now)
		b.undo(r, Events{seen.At, cost}, max(cost, seen.N))
		b.save(r, s)
	case FixedWindow:
		f := fixedWindowIn(s)
		f.refund(r, now, seen.At, cost)
		f.save(s)
	default:
		w := slidingWindowIn(s)
		w.refund(r, now, seen.At, cost)
		w.save(s)
	}
}

// Charge implements [Count].
func (s State) Charge(r *Rule, now Instant, cost int64) {
	switch r.Algorithm.Kind {
	case TokenBucket:
		b := bucketIn(r, s)
		b.advance(r, now)
		b.charge(r, cost)
		b.save(r, s)
	case FixedWindow:
		f := fixedWindowIn(s)
		f.advance(r, now)
		f.used += chargeable(f.used, cost)
		f.save(s)
	default:
		w := slidingWindowIn(s)
		w.advance(r, now)
		cost = chargeable(w.used(), cost)
		w.counts[w.cur] += cost
		w.full += cost
		w.save(s)
	}
}

// chargeable returns how many of cost events can be consumed besides those that are used.
func chargeable(used, cost int64) int64 { return max(0, min(cost, maxConsumed-used)) }

// Inspect implements [Count].
func (s State) Inspect(r *Rule, now Instant) CountState {
	var d Decision
	switch r.Algorithm.Kind {
	case TokenBucket:
		b := bucketIn(r, s)
		b.take(&d, r, now, 1, false)
		return stateOf(d, b.missing)
	case FixedWindow:
		f := fixedWindowIn(s)
		f.take(&d, r, now, 1, false)
		return stateOf(d, f.used)
	default:
		var room [24]int64
		w := slidingWindowIn(append(State(room[:0]), s...)) // with counts of its own
		w.take(&d, r, now, 1, false)
		return stateOf(d, w.used())
	}
}

// AddQuota implements [Count].
func (s State) AddQuota(r *Rule, now Instant, events int64) {
	switch r.Algorithm.Kind {
	case TokenBucket:
		b := bucketIn(r, s)
		if b.advance(r, now); b.missing > 0 {
			b.addQuota(r, events)
			b.save(r, s)
		}
	case FixedWindow:
		f := fixedWindowIn(s)
		f.advance(r, now)
		f.used = max(0, f.used-events)
		f.save(s)
	default:
		w := slidingWindowIn(s)
		w.advance(r, now)
		w.addQuota(events)
		w.save(s)
	}
}
