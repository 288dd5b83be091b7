package sim

import "github.com/fleetlimit/fleetlimit/limiter"

// A leastLimits finds the least limit that never rejects a key, for all keys in one pass. A limit is a
// number of events per window. The burst of a token bucket is equal to that number.
//
// As in the gateway, a request that costs more than the limit counts as the limit. For a key with such
// requests, the limit that is found for a token bucket may be too high. All other limits are exact.
type leastLimits struct {
	kind    limiter.Kind
	window  int64 // µs
	sums    []windowSum
	buckets []densest
	rule    *limiter.Rule // of a search for bursts; nil otherwise
	bursts  []backlog
}

// leastLimitsOf returns a search for the least limits of an algorithm. window is the length of a
// window, in µs. ok is false for sliding window counters, whose least limits cannot be found in one
// pass.
func leastLimitsOf(kind limiter.Kind, window int64) (l *leastLimits, ok bool) {
	return &leastLimits{kind: kind, window: window}, kind != limiter.SlidingWindow
}

// leastBurstsOf returns a search for the least bursts of a token bucket at the rate of r.
func leastBurstsOf(r *limiter.Rule) *leastLimits {
	return &leastLimits{kind: limiter.TokenBucket, rule: r}
}

// add adds the next request.
func (l *leastLimits) add(r Arrival) {
	now := int64(r.At)
	switch {
	case l.rule != nil:
		at(&l.bursts, r.Key).add(now, r.Cost, l.rule)
	case l.kind.Refills():
		at(&l.buckets, r.Key).add(now, r.Cost, l.window)
	case l.kind == limiter.FixedWindow:
		at(&l.sums, r.Key).add(now, r.Cost, now-now%l.window)
	default:
		at(&l.sums, r.Key).add(now, r.Cost, now-l.window+1)
	}
}

// limits returns the least limit of each key, by the numbers of the keys.
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

// A windowSum finds the highest sum of costs in any window, which is the limit that a log or a fixed
// window needs. Any limit admits a request that is alone in its window.
type windowSum struct {
	instants []int64 // of the requests; those before the index first have left the window
	costs    []int64 // of the requests; nil while all costs are 1
	first    int
	sum      int64
	most     int64
	longest  int // the highest number of requests in a window
}

// cost returns the cost of request i.
func (w *windowSum) cost(i int) int64 {
	if w.costs == nil {
		return 1
	}
	return w.costs[i]
}

// add adds a request. start is the beginning of its window.
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
