package lease

import (
	"math"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// A leaseKind is how accounts lease events under a rule: as leases of a window, which are debited
// events, or as a part of a bucket, which also accrues events. Its values have no state: an account
// has the leases.
type leaseKind interface {
	// fill has l return the expired leases. If takes wait, l returns all leases and wants new ones.
	// So no take is denied because of events that its own node holds.
	fill(a account, r *limiter.Rule, now instant, l *limiter.LeaseRequest)

	// refill has l want leases, and return all events but those that takes may spend until the
	// reply. It is called after fill, if no take waits for l.
	refill(a account, r *limiter.Rule, now instant, roundTrip int64, l *limiter.LeaseRequest)

	// add adds the lease that the reply l grants. The request was sent at sent. granted is the name
	// of the lease in returns.
	add(a account, r *limiter.Rule, sent, now instant, l *limiter.LeaseRequest, granted limiter.Instant)

	// isLow reports whether the leases are so low that a request should be sent now, before takes
	// have to wait.
	isLow(h *hot, r *limiter.Rule, now instant, roundTrip int64) bool

	// shouldRenew, nextReturn and dropPassed are the methods of an account with these names.
	shouldRenew(a account, r *limiter.Rule, now instant) bool
	nextReturn(a account, r *limiter.Rule, now instant) (expired bool, next instant)
	dropPassed(h *hot, r *limiter.Rule, now instant) (events int64)

	// holds returns the index of the lease that the events e go back to. before was its index when
	// e was spent. holds reports false if the account does not hold this lease any more, or must
	// not take events back to it.
	holds(a account, now instant, before int, e limiter.Events) (lease int, ok bool)

	// returnedAsSpent reports whether a return tells the store how many events of the lease were
	// spent. If it does, the store has to cancel the events of a take that is undone later.
	returnedAsSpent() bool

	// outlive deals with the leases of a count that is lost: the count was reset, or another
	// incarnation of the store has replied, which does not know of the leases.
	outlive(h *hot, reset bool)
}

// kindOf returns how accounts lease events under r.
func kindOf(r *limiter.Rule) leaseKind {
	if r.Algorithm.Kind == limiter.TokenBucket {
		return bucketParts{}
	}
	return windowLeases{}
}

// shouldRenew reports whether a request should be sent in the background: to renew a lease in use
// that has expired, to renew a part in use that ends soon, or to return a part for which no take
// comes.
func (a account) shouldRenew(r *limiter.Rule, now instant) bool {
	return !a.requesting && kindOf(r).shouldRenew(a, r, now)
}

// nextReturn reports whether there are expired leases whose events should be returned. next is when
// to look after the other leases, or 0 if there are none.
func (a account) nextReturn(r *limiter.Rule, now instant) (expired bool, next instant) {
	expired, next = kindOf(r).nextReturn(a, r, now)
	return expired && !a.requesting, next
}

// dropPassed drops the leases that the store would not take back any more, and returns how many
// events they held.
func (h *hot) dropPassed(r *limiter.Rule, now instant) (events int64) {
	return kindOf(r).dropPassed(h, r, now)
}

// retire makes all leases expire now.
func (h *hot) retire() { h.expires = [2]uint32{} }

// spend spends cost events of the leases, first those of the older one. It spends none and reports
// false if the leases hold fewer than cost events. left is how many events may be spent after that.
func (a account) spend(r *limiter.Rule, now instant, cost int64) (left int64, spent bool) {
	if a.windowEnds > 0 && a.sinceBase(now) >= int64(a.windowEnds) {
		a.noteSpends(r, now)
	}
	older, newer := a.usable(r, 0, now), a.usable(r, 1, now)
	if older+newer < cost {
		return older + newer, false
	}
	n := min(older, cost)
	a.remaining[0] -= int32(n)
	a.remaining[1] -= int32(cost - n)
	return older + newer - cost, true
}

// held returns how many events the leases hold, expired leases included. It returns at least 1 if a
// part accrues events.
func (h *hot) held() int64 {
	n := max(0, int64(h.remaining[0])) + max(0, int64(h.remaining[1]))
	if h.share > 0 {
		n = max(1, n)
	}
	return n
}

// leased returns how many events may be spent.
func (h *hot) leased(r *limiter.Rule, now instant) int64 {
	return h.usable(r, 0, now) + h.usable(r, 1, now)
}

// usable returns how many events of a lease may be spent.
func (h *hot) usable(r *limiter.Rule, lease int, now instant) int64 {
	n := int64(h.remaining[lease])
	if lease == 1 && h.share > 0 {
		n += h.accrued(r, now)
	}
	if n > 0 && h.usableFor(lease, now) > 0 {
		return n
	}
	return 0
}

// usableFor returns for how many µs the events of a lease may still be spent.
func (h *hot) usableFor(lease int, now instant) int64 {
	return max(0, int64(h.expires[lease])*1000-h.sinceBase(now))
}

// newest returns how many events are left of the lease that expires last, and for how many µs it
// lasts. Both are 0 if no lease has events to spend.
func (h *hot) newest(r *limiter.Rule, now instant) (left, lasts int64) {
	for i := range h.remaining {
		if n := h.usable(r, i, now); n > 0 {
			left, lasts = n, h.usableFor(i, now)
		}
	}
	return left, lasts
}

// spent is what a take has spent of leases.
type spent struct {
	leases      [2]limiter.Events // each with the instant of its grant
	incarnation uint64            // of that store
	at          limiter.Instant   // by the clock of that store, or a little more
}

// spentSince returns what was spent at now of the leases. before is what remaining was before that.
// No request may have been sent in between.
func (a account) spentSince(before [2]int32, now instant) (s spent) {
	s.incarnation, s.at = uint64(a.incarnation), a.storeTime(now)
	for i := range before {
		s.leases[i] = limiter.Events{At: a.grantedAt[i], N: int64(before[i]) - int64(a.remaining[i])}
	}
	return s
}

// takeBack undoes a take that has spent s. Events go back to their lease if the account still holds
// it. The store is to take back or to cancel the other events: these are the returns. It cancels
// them as of the instant at, or as of its newest reply if at is 0. lost is the number of events
// that another incarnation of the store has granted, so that the present one cannot take them back.
func (a account) takeBack(r *limiter.Rule, now instant, s spent, at limiter.Instant) (returns pendingReturns, lost int64) {
	if at == 0 {
		at = a.seenAt
	}
	for i, e := range s.leases {
		if e.N == 0 {
			continue
		}
		a.taken -= uint32(min(e.N, int64(a.taken)))
		lease, held := kindOf(r).holds(a, now, i, e)
		switch {
		case s.incarnation != uint64(a.incarnation) || e.At == 0:
			lost += e.N
		case held:
			if lease == 1 && a.windowEnds > 0 {
				a.unnoteSpends(r, s.at, e.N)
			}
			a.remaining[lease] = int32(min(int64(a.remaining[lease])+e.N, math.MaxInt32))
			a.addShown(e.N)
		case kindOf(r).returnedAsSpent():
			returns.cancel(granted{Events: limiter.Events{At: at, N: e.N}, incarnation: s.incarnation})
			a.cancelServed(e.N)
		default:
			returns.returns = append(returns.returns, granted{Events: e, incarnation: s.incarnation})
			a.cancelServed(e.N)
		}
	}
	return returns, lost
}
