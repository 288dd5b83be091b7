package lease

import (
	"math"

	"github.com/fleetlimit/fleetlimit/limiter"
)

const (
	// demandHorizon is for how many lease times demand is remembered.
	demandHorizon = 2

	// Far from the limit, a lease is larger than the expected demand by its square root, by which
	// random arrivals vary, less seldomSpent. One event is wanted where 0.7 are expected: from there
	// on it is spent more often than not (1 - e^-0.7 = 0.5). Below, returning it costs the store more
	// requests than it saves.
	seldomSpent = 0.5

	// A log leases at least leastOfLog events, and up to moreOfLog more the nearer the limit is: what
	// a smaller lease saves is not worth that its events count for longer.
	leastOfLog, moreOfLog = 2, 4

	// lowParts says when a lease is low: when an eighth of its expected demand, or of the usual
	// lease time, is left.
	lowParts = 8

	// maxWant bounds what is wanted at a time.
	maxWant = 1 << 30
)

// needsRefill reports whether a request should be sent in the background, before takes have to
// wait: there is a debt, the lease is low, or it expires soon.
func (h *hot) needsRefill(r *limiter.Rule, now instant, roundTrip int64) bool {
	switch {
	case h.requesting:
		return false
	case h.debt > 0:
		return true
	}
	return kindOf(r).isLow(h, r, now, roundTrip)
}

// lastsFor reports whether the newest lease will probably suffice for us µs, and there is no debt.
func (h *hot) lastsFor(r *limiter.Rule, now instant, us int64) bool {
	left, lasts := h.newest(r, now)
	return h.debt == 0 && lasts > us && h.expected(r, us) < float32(left)+0.5
}

// nextLasts returns how long a lease that is requested now will last, in µs.
func (h *hot) nextLasts(r *limiter.Rule, now instant) int64 {
	if h.seenAt == 0 {
		return r.LeaseTime()
	}
	if slot := r.LeaseSlot(); slot > 0 {
		return 2*slot - int64(h.storeTime(now))%slot - r.LeaseMargin()
	}
	return min(r.LeaseTime(), h.untilNext(r, now))
}

// expected returns how many events takes will probably spend in us µs.
func (h *hot) expected(r *limiter.Rule, us int64) float32 {
	return h.demand * float32(us) / float32(demandHorizon*r.LeaseTime())
}

// updateDemand adds the events that were spent here, and those that a request is sent for.
func (a account) updateDemand(r *limiter.Rule, now instant, requested int64) {
	elapsed := float64(a.sinceRequest(now))
	a.demand *= float32(math.Exp(-elapsed / float64(demandHorizon*r.LeaseTime())))
	a.demand += float32(a.taken) + float32(requested)
	a.recent *= float32(math.Exp(-elapsed / recentHorizon))
	a.recent += float32(a.taken) + float32(requested)
	a.taken = 0
}

// nearLimit reports whether the key is so near to its limit that takes may be denied because of
// events that other nodes hold and do not spend. Random arrivals vary by the square root of their
// number; five times that is rarely reached by chance.
func (h *hot) nearLimit(r *limiter.Rule, now instant) bool {
	near := 1.0
	if r.Algorithm.Kind == limiter.SlidingWindowLog {
		near = 5
	}
	return float64(r.Capacity()-h.used) < near*math.Sqrt(float64(r.Capacity())) && !h.windowPassed(r, now)
}

// sizeFor returns the size of a lease of which expected events will probably be spent. Near the
// limit, it is only what is nearly always spent. In a log it is nothing there, as leased events
// count for longer than those spent at once.
func (h *hot) sizeFor(r *limiter.Rule, now instant, expected float32) int64 {
	near, deviation := h.nearLimit(r, now), float32(math.Sqrt(float64(expected)))
	switch {
	case r.Algorithm.Kind == limiter.SlidingWindowLog && (near || expected < leastOfLog+moreOfLog*h.usedPart(r)):
		return 0
	case near:
		expected -= 1.5 * deviation
	default:
		expected += deviation - seldomSpent
	}
	return int64(min(expected, maxWant))
}

// usedPart returns which part of the limit was used.
func (h *hot) usedPart(r *limiter.Rule) float32 { return float32(h.used) / float32(r.Capacity()) }

// want returns how many events to lease beyond those that are kept. It is 0 while the newest lease
// is not low.
func (h *hot) want(r *limiter.Rule, now instant) int64 {
	if !r.Leases() || h.remaining[0] > 0 && h.remaining[1] > 0 {
		return 0
	}
	left, lasts := h.newest(r, now)
	next := h.nextLasts(r, now)
	expected := h.expected(r, next)
	if float32(left) > expected/lowParts && (lasts > r.LeaseTime()/lowParts || next < 2*lasts) {
		return 0
	}
	return max(0, h.sizeFor(r, now, expected)-h.keepDuringRefill(r, left, lasts))
}

// keepDuringRefill returns how many of the events of a lease takes may spend until the reply to a
// refill. It is half of what they will probably spend of it, so that few are left in the end.
func (h *hot) keepDuringRefill(r *limiter.Rule, left, lasts int64) int64 {
	return min(left, int64(h.expected(r, lasts)/2))
}
