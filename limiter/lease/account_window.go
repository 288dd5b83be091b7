package lease

import (
	"math"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// windowLeases lease debited events of a window, a sub-window or a log, which expire with it. When
// a lease expires, its unspent events are returned, unless their window has passed.
type windowLeases struct{}

var _ leaseKind = windowLeases{}

const (
	// Far from the limit, the size of a lease is the expected demand and its square root, less
	// seldomSpent. Random arrivals vary by the square root. So one event is wanted if 0.7 are
	// expected: takes then spend it every second time (1 - e^-0.7 = 0.5). If fewer are expected,
	// the return of the event costs the store more requests than the lease saves.
	seldomSpent = 0.5

	// A log leases events if leastOfLog are expected, and moreOfLog times the used part of the
	// limit. A smaller lease saves less than it costs, because leased events count for longer.
	leastOfLog, moreOfLog = 2, 4

	// A lease is low when it has left the expected demand divided by lowParts, or the usual lease
	// time divided by lowParts.
	lowParts = 8

	// maxWant bounds the events that are wanted at a time.
	maxWant = 1 << 30
)

func (windowLeases) fill(a account, r *limiter.Rule, now instant, l *limiter.LeaseRequest) {
	for i := range a.remaining {
		if a.remaining[i] > 0 && (l.Need > 0 || a.usable(r, i, now) == 0) {
			l.Returns[i].Events = limiter.Events{At: a.grantedAt[i], N: int64(a.remaining[i])}
			a.remaining[i] = 0
		}
	}
	if l.Need > 0 {
		l.Want = a.want(r, now)
	}
}

func (windowLeases) refill(a account, r *limiter.Rule, now instant, _ int64, l *limiter.LeaseRequest) {
	if l.Want = a.want(r, now); l.Want == 0 {
		return
	}
	for i := range a.remaining {
		if n := a.usable(r, i, now); n > 0 {
			kept := a.keepDuringRefill(r, n, a.usableFor(i, now))
			l.Returns[i].Events = limiter.Events{At: a.grantedAt[i], N: n - kept}
			a.remaining[i] = int32(kept)
		}
	}
}

func (windowLeases) add(a account, r *limiter.Rule, sent, _ instant, l *limiter.LeaseRequest, granted limiter.Instant) {
	lasts := limiter.ByStoreClock(int64(l.Expires-l.Decision.At)) - r.LeaseMargin()
	if r.LeaseSlot() == 0 {
		lasts = min(lasts, r.LeaseTime())
	}
	if !a.appliesTo(r) { // the limit has changed since the request
		lasts = 0
	}
	a.addLease(l.Granted, granted, (sent.since(a.base)+lasts)/1000)
}

// addLease adds a lease as the newer one. expires is in ms after base. An account with two leases
// requests no third. But a take that is undone while a request is under way may bring an older
// lease back. Then the two leases become one, with the name and the end of the older one.
func (a account) addLease(events int64, granted limiter.Instant, expires int64) {
	if a.remaining[0] == 0 {
		a.grantedAt[0], a.expires[0] = a.grantedAt[1], a.expires[1]
	}
	a.remaining[0] = int32(leaseSize(a.held()))
	a.remaining[1] = 0
	newer := 0
	if a.remaining[0] > 0 {
		newer = 1
	}
	a.remaining[newer], a.grantedAt[newer] = int32(leaseSize(events)), granted
	a.expires[newer] = uint32(max(0, min(expires, math.MaxUint32)))
}

// leaseSize returns events as the size of a lease, which is bounded. Nodes want far fewer events.
func leaseSize(events int64) uint32 { return uint32(min(events, math.MaxInt32)) }

func (windowLeases) isLow(h *hot, r *limiter.Rule, now instant, _ int64) bool {
	left, lasts := h.newest(r, now)
	if float32(left) > 2*h.demand/(demandHorizon*lowParts) && lasts > r.LeaseTime()/lowParts {
		return false // the usual case, decided without want: no lease is twice as long as usual
	}
	return h.want(r, now) > 0
}

// shouldRenew reports whether the lease has expired, and takes have spent at least a fourth of what
// was expected since the newest request. A lease of which takes have spent less is not renewed.
func (windowLeases) shouldRenew(a account, r *limiter.Rule, now instant) bool {
	inUse := a.taken > 0 && 4*float32(a.taken) >= a.expected(r, a.sinceRequest(now))
	return inUse && a.leased(r, now) == 0 && a.want(r, now) > 0
}

// intoNext is how long after the end of a window its leases are looked after, in µs. By then the
// next window has begun for the store too, so that it grants events of the next window.
const intoNext = 2000

// nextReturn has leases looked after when they expire. If they expire with their window, they are
// looked after shortly after its end.
func (windowLeases) nextReturn(a account, r *limiter.Rule, now instant) (expired bool, next instant) {
	for i := range a.remaining {
		switch lasts := a.usableFor(i, now); {
		case a.remaining[i] == 0:
		case lasts > 0:
			next = max(next, now.plus(lasts))
		case !a.windowPassed(r, now):
			expired = true
		}
	}
	if r.LeaseSlot() == 0 && next > 0 {
		if end := now.plus(a.untilNext(r, now)); next > end.plus(-intoNext) {
			next = end.plus(intoNext)
		}
	}
	return expired, next
}

func (windowLeases) dropPassed(h *hot, r *limiter.Rule, now instant) (events int64) {
	if h.windowPassed(r, now) {
		for i := range h.remaining {
			if h.usable(r, i, now) == 0 {
				events += int64(h.remaining[i])
				h.remaining[i] = 0
			}
		}
	}
	return events
}

// holds finds the lease by its name, because the newer lease may have become the older one.
func (windowLeases) holds(a account, _ instant, _ int, e limiter.Events) (lease int, ok bool) {
	switch e.At {
	case a.grantedAt[0]:
		return 0, a.canTakeBack(0)
	case a.grantedAt[1]:
		// A name that is not newer is that of a lease spent before the older one came.
		return 1, a.grantedAt[1] > a.grantedAt[0] && a.canTakeBack(1)
	}
	return 0, false
}

// canTakeBack reports whether events may go back to a lease. They must not revive a spent lease
// while the other one is held and a third is requested.
func (h *hot) canTakeBack(lease int) bool {
	return h.remaining[lease] > 0 || h.remaining[1-lease] == 0 || !h.requesting
}

func (windowLeases) returnedAsSpent() bool { return false }

// outlive has the leases expire after a reset, so that they are returned. The store ignores returns
// of leases that it granted before the reset.
func (windowLeases) outlive(h *hot, reset bool) {
	if reset {
		h.retire()
	}
}

// want returns how many events to lease beyond those that the account keeps. It returns 0 if the
// newest lease is not low.
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

// sizeFor returns the size of a lease of which takes will probably spend expected events. Near the
// limit, the lease has only as many events as takes nearly always spend. A log leases nothing
// there, because leased events count for longer than those spent at once.
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

// usedPart returns which part of the limit was used by the newest reply.
func (h *hot) usedPart(r *limiter.Rule) float32 { return float32(h.used) / float32(r.Capacity()) }

// keepDuringRefill returns how many events of a lease takes may spend until the reply to a refill.
// It is half of what they would probably spend until the lease expires, so that few are left then.
func (h *hot) keepDuringRefill(r *limiter.Rule, left, lasts int64) int64 {
	return min(left, int64(h.expected(r, lasts)/2))
}

// expected returns how many events takes will probably spend in us µs.
func (h *hot) expected(r *limiter.Rule, us int64) float32 {
	return h.demand * float32(us) / float32(demandHorizon*r.LeaseTime())
}

// lastsFor reports whether the newest lease will probably suffice for us µs and there is no debt.
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

// storeTime returns what the store's clock reads at now, or a little more.
func (h *hot) storeTime(now instant) limiter.Instant {
	return h.seenAt + limiter.Instant(h.sinceBase(now))
}

// untilNext returns how long it is to the next window or sub-window, in µs, as far as the node
// knows.
func (h *hot) untilNext(r *limiter.Rule, now instant) int64 {
	if h.seenAt == 0 {
		return r.Period()
	}
	return r.UntilNext(h.storeTime(now))
}

// windowPassed reports whether a fixed window has ended since the newest reply, so that what was
// used in it no longer counts.
func (h *hot) windowPassed(r *limiter.Rule, now instant) bool {
	return r.Algorithm.Kind == limiter.FixedWindow && r.UntilNext(h.seenAt) <= h.sinceBase(now)
}
