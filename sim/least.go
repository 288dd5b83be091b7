package sim

import "github.com/fleetlimit/fleetlimit/limiter"

// A leastLimits finds the least limit that never rejects a key, for each key in one pass. The limit
// is a number of events per window, and a bucket's burst is as large.
//
// A request that costs more than a limit counts as the limit, as in the gateway. So a key that has
// such requests may have a lower least limit under a token bucket than the one that is found. All
// others are exact.
type leastLimits struct {
	kind    limiter.Kind
	window  int64 // µs
	sums    []windowSum
	buckets []densest
	rule    *limiter.Rule // of a search for bursts
	bursts  []backlog
}

// leastLimitsOf returns one for limits of this kind of algorithm. window is the length of a window,
// in µs. ok is false for sliding window counters, whose least limits are not found in one pass.
func leastLimitsOf(kind limiter.Kind, window int64) (l *leastLimits, ok bool) {
	return &leastLimits{kind: kind, window: window}, kind != limiter.SlidingWindow
}

// leastBurstsOf returns one of bursts: the least burst of a token bucket at the rate of r.
func leastBurstsOf(r *limiter.Rule) *leastLimits {
	return &leastLimits{kind: limiter.TokenBucket, rule: r}
}

// add takes the next request into account.
func (l *leastLimits) add(r Request) {
	now := int64(r.At)
	switch {
	case l.rule != nil:
		at(&l.bursts, r.Key).add(now, r.Cost, l.rule)
	case l.kind == limiter.TokenBucket:
		at(&l.buckets, r.Key).add(now, r.Cost, l.window)
	case l.kind == limiter.FixedWindow:
		at(&l.sums, r.Key).add(now, r.Cost, now-now%l.window)
	default:
		at(&l.sums, r.Key).add(now, r.Cost, now-l.window+1)
	}
}

// limits returns the least limit of each key, by the keys' numbers.
func (l *leastLimits) limits() []int64 {
	limits := make([]int64, 0, len(l.buckets)+len(l.sums)+len(l.bursts))
	for i := range l.buckets {
		limits = append(limits, l.buckets[i].least)
	}
	for i := range l.sums {
		limits = append(limits, l.sums[i].most)
	}
	for i := range l.bursts {
		limits = append(limits, l.bursts[i].least)
	}
	return limits
}

// A windowSum finds the largest sum of costs in any window: what a log or a fixed window has to
// admit. A request alone in its window is admitted by any limit.
type windowSum struct {
	instants []int64 // of the requests in the window that ends with the newest one; the first is at first
	costs    []int64 // of the same requests; nil while all are 1
	first    int
	sum      int64
	most     int64
	longest  int // the most requests in a window
}

// cost returns the cost of the ith request.
func (w *windowSum) cost(i int) int64 {
	if w.costs == nil {
		return 1
	}
	return w.costs[i]
}

// add adds a request. Its window begins at start.
func (w *windowSum) add(at, cost, start int64) {
	for w.first < len(w.instants) && w.instants[w.first] < start {
		w.sum -= w.cost(w.first)
		w.first++
	}
	if w.first > len(w.instants)/2 {
		w.instants = w.instants[:copy(w.instants, w.instants[w.first:])]
		if w.costs != nil {
			w.costs = w.costs[:copy(w.costs, w.costs[w.first:])]
		}
		w.first = 0
	}
	if cost != 1 && w.costs == nil {
		for range w.instants {
			w.costs = append(w.costs, 1)
		}
	}
	w.instants = append(w.instants, at)
	if w.costs != nil || cost != 1 {
		w.costs = append(w.costs, cost)
	}
	w.sum += cost
	least := int64(1)
	if len(w.instants)-w.first > 1 {
		least = w.sum
	}
	w.most, w.longest = max(w.most, least), max(w.longest, len(w.instants)-w.first)
}
