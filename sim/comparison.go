package sim

import "github.com/fleetlimit/fleetlimit/limiter"

// A comparison replays a trace under several algorithms, and under a sliding window log, which is
// exact.
type comparison struct {
	exact *Replay
	all   []compared
}

// A compared is one algorithm of a comparison.
type compared struct {
	*Replay
	differs int64       // number of decisions that differ from those of the exact log
	windows []windowSum // of the admitted events, by key
}

func newComparison(l limiter.Limit, algorithms []limiter.Algorithm) (comparison, error) {
	l.Burst = 0
	newReplay := func(a limiter.Algorithm) (*Replay, error) {
		rule, err := limiter.NewRule(limiter.Rule{Algorithm: a, Limit: l})
		if err != nil {
			return nil, err
		}
		return NewReplay(rule), nil
	}
	exact, err := newReplay(limiter.Algorithm{Kind: limiter.SlidingWindowLog})
	if err != nil {
		return comparison{}, err
	}
	c := comparison{exact: exact}
	for _, a := range algorithms {
		r, err := newReplay(a)
		if err != nil {
			return comparison{}, err
		}
		c.all = append(c.all, compared{Replay: r})
	}
	return c, nil
}

func (c *comparison) take(r Arrival) {
	if c.exact == nil {
		return
	}
	exact := c.exact.Take(r)
	for i := range c.all {
		a := &c.all[i]
		d := a.Take(r)
		if d.OK != exact.OK {
			a.differs++
		}
		if d.OK {
			cost := min(r.Cost, a.rule.Capacity())
			at(&a.windows, r.Key).add(int64(r.At), cost, int64(r.At)-a.rule.Limit.Window.Microseconds()+1)
		}
	}
}

// excess returns the highest number of events above the limit in any window of a key.
func (c *compared) excess() int64 {
	most := int64(0)
	for i := range c.windows {
		most = max(most, c.windows[i].most)
	}
	return max(0, most-c.rule.Limit.Events)
}

// bytesPerKey returns the memory of the counts, in bytes per key.
func (c *compared) bytesPerKey() float64 {
	if size := c.rule.Algorithm.StateSize(); size > 0 {
		return float64(8 * size)
	}
	const entry = 16 // bytes of an event in a log
	events := 0
	for i := range c.windows {
		events += c.windows[i].longest
	}
	return entry * float64(events) / float64(max(1, len(c.windows)))
}
