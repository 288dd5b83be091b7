package lease

import (
	"math"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// A leaseKind is how accounts lease events under a rule: as leases of a window, which are debited
// events, or as a part of a bucket, which also accrues. Its values have no state: an account has
// the leases.
type leaseKind interface {
	// fill has l return what has expired. If takes wait, l returns all leases and wants others: so
	// no take is denied for what its own node holds.
	fill(a account, r *limiter.Rule, now instant, l *limiter.LeaseRequest)

	// refill has l, which fill has filled in and no take waits for, want leases. It returns all but
	// what takes may spend until the reply. idle means that no take comes.
	refill(a account, r *limiter.Rule, now instant, roundTrip int64, idle bool, l *limiter.LeaseRequest)

	// add adds the lease in the reply l to a request that was sent at sent, under the name granted.
	add(a account, r *limiter.Rule, sent, now instant, l *limiter.LeaseRequest, granted limiter.Instant)

	// isLow reports whether a request should be sent before takes have to wait.
	isLow(h *hot, r *limiter.Rule, now instant, roundTrip int64) bool

	// shouldRenew, nextReturn and dropPassed are the methods of an account with these names.
	shouldRenew(a account, r *limiter.Rule, now instant) bool
	nextReturn(a account, r *limiter.Rule, now instant) (expired bool, next instant)
	dropPassed(h *hot, r *limiter.Rule, now instant) (events int64)

	// holds returns the lease that events which were spent of the lease before may go back to, if
	// the account still holds it.
	holds(a account, now instant, before int, e limiter.Events) (lease int, ok bool)

	// returnedAsSpent reports whether the store has heard of what is spent of a lease that was
	// returned, so that it has to cancel that.
	returnedAsSpent() bool

	// outlive is called when the leases are of a count that is no more: it was reset, or another
	// incarnation of the store has replied, which does not know of them.
	outlive(h *hot, reset bool)
}

// kindOf returns how accounts lease events under r.
func kindOf(r *limiter.Rule) leaseKind {
	if r.Algorithm.Kind == limiter.TokenBucket {
		return bucketParts{}
	}
	return windowLeases{}
}

// shouldRenew reports whether a request should be sent in the background: the lease has expired, or
// a part soon ends, and takes spend it; or no take comes for a part.
func (a account) shouldRenew(r *limiter.Rule, now instant) bool {
	return !a.requesting && kindOf(r).shouldRenew(a, r, now)
}

// nextReturn reports whether leases have expired whose events should go back, and when to look
// after the others; 0: there are none.
func (a account) nextReturn(r *limiter.Rule, now instant) (expired bool, next instant) {
	expired, next = kindOf(r).nextReturn(a, r, now)
	return expired && !a.requesting, next
}

// dropPassed drops leases that are of no use to anybody any more, and returns how many events they
// held.
func (h *hot) dropPassed(r *limiter.Rule, now instant) (events int64) {
	return kindOf(r).dropPassed(h, r, now)
}

// retire makes all leases expire now.
func (h *hot) retire() { h.expires = [2]uint16{} }

// spent is what a take has spent of leases.
type spent struct {
	leases      [2]limiter.Events // by the instant at which the store granted them
	incarnation uint64            // of that store
	at          limiter.Instant   // by the clock of that store, or a little more
}

// spentSince returns what was spent at now of the leases, which held what before says. There must
// have been no request in between.
func (a account) spentSince(before [2]int32, now instant) (s spent) {
	s.incarnation, s.at = uint64(a.incarnation), a.storeTime(now)
	for i := range before {
		s.leases[i] = limiter.Events{At: a.grantedAt[i], N: int64(before[i]) - int64(a.remaining[i])}
	}
	return s
}

// takeBack undoes a take that has spent s. Events go back to their lease while the account holds
// it. Those of other leases are returned to the store, or canceled: as of its newest reply, or if
// the take was a while ago, as of the instant at. lost are the events that another incarnation of
// the store has granted, as it cannot take them back.
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
