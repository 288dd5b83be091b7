package leasetest

import "github.com/fleetlimit/fleetlimit/limiter"

// checkBound checks that no span of what was admitted to a key holds more than its algorithm
// promises, and what failovers have made the store forget.
func (c *checker) checkBound(key int, k *outcome) {
	admitted, r := k.inOrder(), c.highest
	most := r.Capacity() + k.forgotten
	switch r.Algorithm.Kind {
	case limiter.TokenBucket:
		c.checkBucket(key, admitted, k.forgotten)
	case limiter.SlidingWindowLog:
		c.checkLog(key, admitted, most)
	case limiter.FixedWindow:
		c.checkFixed(key, admitted, most)
	default:
		c.checkSliding(key, admitted, most)
	}
}

// checkBucket checks all spans at once: what was admitted does not overflow a bucket of the size of
// the bound, which in a span is larger by what was still to be canceled when the span began.
func (c *checker) checkBucket(key int, admitted []admission, forgotten int64) {
	r, vain := c.highest, c.outcomes[key].vain.overlapping()
	refill, per := r.Rate()
	bound := float64(r.Capacity() + forgotten)
	if r.MaxWait > 0 { // a turn is rounded up to a µs, and the next one perhaps less
		bound += float64(refill) / float64(per)
	}
	level, at := 0.0, limiter.Instant(0)
	for _, e := range admitted {
		level = max(-vain.pending(e.at), level-float64(int64(e.at-at)*refill)/float64(per)) + float64(e.n)
		if at = e.at; level > bound+1e-6 {
			c.failAt(at, key, "in a span up to %v, %.2f more were admitted than accrue in it, want at most %.2f",
				sinceEpoch(at), level, bound)
		}
	}
}

func (c *checker) checkLog(key int, admitted []admission, most int64) {
	var n int64
	first := 0
	for _, e := range admitted {
		n += e.n
		for admitted[first].at <= e.at-window(c.highest) {
			n -= admitted[first].n
			first++
		}
		c.checkWindow(key, e.at, n, most)
	}
}

func (c *checker) checkWindow(key int, at limiter.Instant, n, most int64) {
	if n > most {
		c.failAt(at, key, "admitted in the window up to %v = %d, want at most %d", sinceEpoch(at), n, most)
	}
}

func (c *checker) checkFixed(key int, admitted []admission, most int64) {
	var n int64
	var current limiter.Instant
	for _, e := range admitted {
		if begins := begin(e.at, int64(window(c.highest))); begins != current {
			n, current = 0, begins
		}
		n += e.n
		c.checkWindow(key, e.at, n, most)
	}
}

// checkSliding counts what was admitted as the algorithm does.
func (c *checker) checkSliding(key int, admitted []admission, most int64) {
	w := NewLedger(c.highest.Algorithm).count
	for _, e := range admitted {
		w.advance(c.highest, e.at)
		w.consume(c.highest, e.n)
		c.checkWindow(key, e.at, w.consumed(), most)
	}
}

// undenied returns how many events may be used without a denial while nothing goes wrong: half of
// the limit, or less if the other nodes may hold more of it.
//
// The parts of a bucket hold half of it at most, whatever their nodes want. Nothing else bounds what
// nodes hold of a window but the store's divisor. A take waits for what the others hold alone, as
// its own node returns its leases first, and a node asks for a second one when the first is low. So
// the others leave (1-1/divisor)^(nodes-1) of the limit. That is 0.61 or more where the divisor
// follows the number of nodes. Nodes that take themselves for alone get half of what is left each,
// and an eighth of a log: if they want as much, eight of them leave less than a hundredth to others.
func (c *checker) undenied() int64 {
	left, divisor := c.rule.Capacity(), int64(2)
	switch {
	case !c.alone || c.rule.Algorithm.Kind == limiter.TokenBucket:
		return left / 2
	case c.rule.Algorithm.Kind == limiter.SlidingWindowLog:
		divisor = 8
	}
	for range c.nodes[1:] {
		left -= left / divisor
	}
	return min(left, c.rule.Capacity()/2)
}
