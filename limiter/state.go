package limiter

// A State is what one key has consumed under one algorithm, as numbers: a [Count] that stores can keep by the million in
// pieces of memory of their own, which hold no pointers and so cost the garbage collector nothing. All zero is no
// consumption. Its length is [Algorithm.StateSize] of the algorithm of the rules that it is asked under.
type State []int64

var _ Count = State(nil)

// StateSize returns how many numbers a State under a has. It is 0 for the sliding window log, which grows with what it
// remembers; [NewCount] makes those.
func (a Algorithm) StateSize() int {
	switch a.Kind {
	case TokenBucket:
		return 5
	case FixedWindow:
		return 4
	case SlidingWindow:
		return slidingNumbers + max(1, a.SubWindows) + 1
	}
	return 0
}

// Take implements [Count].
func (s State) Take(r *Rule, now Instant, cost int64) (d Decision) {
	s.TakeInto(&d, r, now, cost)
	return d
}

// TakeInto is Take, with the decision written where it is to be: a copy of it takes longer than the arithmetic.
func (s State) TakeInto(d *Decision, r *Rule, now Instant, cost int64) {
	switch r.Algorithm.Kind {
	case TokenBucket:
		b := bucketIn(s)
		b.take(d, r, now, cost)
		b.save(s)
	case FixedWindow:
		f := fixedWindowIn(s)
		f.take(d, r, now, cost)
		f.save(s)
	default:
		w := slidingWindowIn(s)
		w.take(d, r, now, cost)
		w.save(s)
	}
}

// Peek implements [Count].
func (s State) Peek(r *Rule, now Instant, cost int64) (d Decision) {
	switch r.Algorithm.Kind {
	case TokenBucket:
		b := bucketIn(s)
		b.peek(&d, r, now, cost)
		b.save(s)
	case FixedWindow:
		f := fixedWindowIn(s)
		f.peek(&d, r, now, cost)
		f.save(s)
	default:
		w := slidingWindowIn(s)
		w.peek(&d, r, now, cost)
		w.save(s)
	}
	return d
}

// Refund implements [Count].
func (s State) Refund(r *Rule, now Instant, seen Events, cost int64) {
	switch r.Algorithm.Kind {
	case TokenBucket:
		b := bucketIn(s)
		b.refund(r, now, seen, cost)
		b.save(s)
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
