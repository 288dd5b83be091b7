package leasetest

import "github.com/fleetlimit/fleetlimit/limiter"

// A tally counts events as an algorithm does, oldest first.
type tally interface {
	// add adds n events of the instant at, and returns how many count then.
	add(at limiter.Instant, n float64) float64

	// giveBack takes off events that a change has given back.
	giveBack(c *change)
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
	return &slidingTally{r, NewLedger(r.Algorithm).count, NewLedger(r.Algorithm).count}
}

// A bucketTally checks all spans at once: what was added must not overflow a bucket of the size of
// the bound, which in a span is larger by what was still to be canceled when the span began.
type bucketTally struct {
	rule  *limiter.Rule
	vain  vain
	at    limiter.Instant
	level float64
}

func (t *bucketTally) add(at limiter.Instant, n float64) float64 {
	refill, per := t.rule.Rate()
	accrued := float64(int64(at-t.at)*refill) / float64(per)
	t.level = max(-t.vain.pending(at), t.level-accrued) + n
	t.at = at
	return t.level
}

// giveBack may leave less than none, until something is added: no more than fits was given back.
func (t *bucketTally) giveBack(c *change) { t.add(c.at, -c.n) }

// A logTally counts what is in the window.
type logTally struct {
	rule   *limiter.Rule
	events []loggedEvents // the oldest of which may be out of the window
	sum    float64
}

type loggedEvents struct {
	at limiter.Instant
	n  float64
}

func (t *logTally) add(at limiter.Instant, n float64) float64 {
	for len(t.events) > 0 && t.events[0].at <= at-window(t.rule) {
		t.sum -= t.events[0].n
		t.events = t.events[1:]
	}
	t.events = append(t.events, loggedEvents{at, n})
	t.sum += n
	return t.sum
}

// giveBack takes off the newest events. The log has given back events that were entered no earlier.
func (t *logTally) giveBack(c *change) {
	for i := len(t.events) - 1; i >= 0; i-- {
		n := min(c.n, t.events[i].n)
		t.events[i].n -= n
		t.sum -= n
		c.n -= n
	}
}

// A fixedTally may count less than none: leased events may be given back, which are spent later.
type fixedTally struct {
	rule   *limiter.Rule
	begins limiter.Instant
	sum    float64
}

func (t *fixedTally) add(at limiter.Instant, n float64) float64 {
	if begins := begin(at, int64(window(t.rule))); begins != t.begins {
		t.begins, t.sum = begins, 0
	}
	t.sum += n
	return t.sum
}

func (t *fixedTally) giveBack(c *change) { t.add(c.at, -c.n) }

// A slidingTally counts what was given back beside what was added, of the same sub-windows: leased
// events may be given back, which are spent later.
type slidingTally struct {
	rule         *limiter.Rule
	added, given lendingCount
}

func (t *slidingTally) add(at limiter.Instant, n float64) float64 {
	t.added.advance(t.rule, at)
	t.added.consume(t.rule, int64(n))
	t.given.advance(t.rule, at)
	return float64(t.added.consumed() - t.given.consumed())
}

func (t *slidingTally) giveBack(c *change) {
	t.given.advance(t.rule, c.at)
	for i, n := range c.slots {
		t.given.(*lendingSliding).counts[i] += n
	}
}
