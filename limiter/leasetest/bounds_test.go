package leasetest

import "github.com/fleetlimit/fleetlimit/limiter"

// checkBound checks that no span of what was admitted to a key holds more than its algorithm
// promises, and what failovers have made the store forget. What was refunded does not count.
func (c *checker) checkBound(key int, k *outcome) {
	r := c.highest
	most := float64(r.Capacity() + k.forgotten)
	if r.MaxWait > 0 { // a turn is rounded up to a µs, and the next one perhaps less
		refill, per := r.Rate()
		most += float64(refill) / float64(per)
	}
	t := newTally(r, k.vain.overlapping())
	for _, e := range k.inOrder() {
		if got := t.add(e.at, e.n); got > most+1e-6 {
			c.failAt(e.at, key, "%.2f events count at %v, want at most %.2f", got, sinceEpoch(e.at), most)
			return
		}
	}
}

// A tally counts events as an algorithm does, oldest first.
type tally interface {
	// add adds n events of the instant at, and returns how many count then.
	add(at limiter.Instant, n int64) float64
}

func newTally(r *limiter.Rule, vain vain) tally {
	switch r.Algorithm.Kind {
	case limiter.TokenBucket:
		return &bucketTally{rule: r, vain: vain, at: epoch}
	case limiter.SlidingWindowLog:
		return &logTally{rule: r}
	case limiter.FixedWindow:
		return &fixedTally{rule: r}
	}
	return &slidingTally{r, NewLedger(r.Algorithm).count}
}

// A bucketTally checks all spans at once: what was added must not overflow a bucket of the size of
// the bound, which in a span is larger by what was still to be canceled when the span began.
type bucketTally struct {
	rule  *limiter.Rule
	vain  vain
	at    limiter.Instant
	level float64
}

func (t *bucketTally) add(at limiter.Instant, n int64) float64 {
	refill, per := t.rule.Rate()
	accrued := float64(int64(at-t.at)*refill) / float64(per)
	t.level = max(-t.vain.pending(at), t.level-accrued) + float64(n)
	t.at = at
	return t.level
}

// A logTally counts what is in the window.
type logTally struct {
	rule   *limiter.Rule
	events []limiter.Events // the oldest of which may be out of the window
	sum    int64
}

func (t *logTally) add(at limiter.Instant, n int64) float64 {
	for len(t.events) > 0 && t.events[0].At <= at-window(t.rule) {
		t.sum -= t.events[0].N
		t.events = t.events[1:]
	}
	t.events = append(t.events, limiter.Events{At: at, N: n})
	t.sum += n
	return float64(t.sum)
}

type fixedTally struct {
	rule   *limiter.Rule
	begins limiter.Instant
	sum    int64
}

func (t *fixedTally) add(at limiter.Instant, n int64) float64 {
	if begins := begin(at, int64(window(t.rule))); begins != t.begins {
		t.begins, t.sum = begins, 0
	}
	t.sum += n
	return float64(t.sum)
}

type slidingTally struct {
	rule *limiter.Rule
	lendingCount
}

func (t *slidingTally) add(at limiter.Instant, n int64) float64 {
	t.advance(t.rule, at)
	t.consume(t.rule, n)
	return float64(t.consumed())
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
