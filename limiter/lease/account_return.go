package lease

import (
	"math"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// spent is what a take has spent of leases.
type spent struct {
	leases      [2]limiter.Events // by the instant at which the store granted them
	incarnation uint64            // of that store
}

// eventsOf returns n events of a lease.
func (a account) eventsOf(lease int, n int64) limiter.Events {
	return limiter.Events{At: a.grantedAt[lease], N: n}
}

// spentSince returns what was spent of the leases since they held what before says. There must
// have been no request in between.
func (a account) spentSince(before [2]int32) (s spent) {
	s.incarnation = uint64(a.incarnation)
	for i := range before {
		s.leases[i] = a.eventsOf(i, int64(before[i])-int64(a.remaining[i]))
	}
	return s
}

// returnToLease undoes a take that has spent s. Events go back to their lease while the account
// holds it. Those of other leases are returned to the store: the caller keeps them until the next
// request. lost are the events that another incarnation of the store has granted, as it cannot
// take them back.
func (a account) returnToLease(s spent) (returns [2]limiter.Events, lost int64) {
	for i, e := range s.leases {
		a.taken -= uint32(min(e.N, int64(a.taken)))
		switch {
		case e.N == 0:
		case s.incarnation != uint64(a.incarnation) || e.At == 0:
			lost += e.N
		case a.grantedAt[0] == e.At && a.canTakeBack(0):
			a.putBack(0, e.N)
		case a.grantedAt[1] == e.At && a.grantedAt[1] > a.grantedAt[0] && a.canTakeBack(1): // an older one was spent before the first came
			a.putBack(1, e.N)
		default:
			returns[i] = e
			a.cancelServed(e.N)
		}
	}
	return returns, lost
}

// canTakeBack reports whether events may go back to a lease. They must not revive one that is spent
// while the other is held and a third is requested.
func (h *hot) canTakeBack(lease int) bool {
	return h.remaining[lease] > 0 || h.remaining[1-lease] == 0 || !h.requesting
}

func (h *hot) putBack(lease int, events int64) {
	h.remaining[lease] = int32(min(int64(h.remaining[lease])+events, math.MaxInt32))
	h.shown += events
}

// addReturn adds events that were granted and not spent to what l returns, and reports whether
// there was room.
func addReturn(l *limiter.LeaseRequest, e limiter.Events) bool {
	for i := range l.Returns {
		if b := &l.Returns[i]; b.N == 0 || b.At == e.At {
			b.At, b.N = e.At, b.N+e.N
			return true
		}
	}
	return false
}

// nextReturn reports whether leases have expired whose events should go back, and when to look
// after the others: when they expire, or shortly after the window that they expire with. It is 0 if
// there are none.
func (a account) nextReturn(r *limiter.Rule, now instant) (expired bool, next instant) {
	if r.Algorithm.Kind == limiter.TokenBucket {
		if !a.hasPart() && a.granted[0] == 0 {
			return false, 0
		}
		return a.expires[1] == 0 && !a.requesting, a.lookAt(r, now)
	}
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
	return expired && !a.requesting, next
}

// intoNext is how long after the end of a window its leases are looked after, in µs. By then the
// next window has begun for the store too, and grants are of that one.
const intoNext = 2000

// dropPassed drops leases of a window that has passed, which are of no use to anybody, and returns
// how many events they held.
func (h *hot) dropPassed(r *limiter.Rule, now instant) (events int64) {
	if r.Algorithm.Kind == limiter.TokenBucket {
		return h.dropParts(r, now)
	}
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

// retire makes all leases expire now.
func (h *hot) retire() { h.expires = [2]uint16{} }
