package lease

import "github.com/fleetlimit/fleetlimit/limiter"

// spentEvents is what a take has spent of leases: so many events of each, by the instant at which the store lent them.
type spentEvents struct {
	Leases [2]limiter.Events
	Run    uint64 // of the store that lent them
}

// Left returns what is left of each lease, the older first.
func (b *hot) Left() [2]uint32 { return b.remaining }

// SpentSince returns what was spent of the leases since so much was left of each. The store must not have been asked in between.
func (a account) SpentSince(left [2]uint32) (s spentEvents) {
	s.Run = uint64(a.incarnation)
	for i := range left {
		s.Leases[i] = limiter.Events{At: a.grantedAt[i], N: int64(left[i]) - int64(a.remaining[i])}
	}
	return s
}

// ReturnToLease undoes a take that has spent s, since another take of its request was denied. Events return to their lease while the account
// holds it, and can be spent again. Those of a lease that it holds no more are returned to the store: by the next loan
// ([LeaseRequest.Return]), before which the caller must keep them. lost are events that another run of the store has lent, which
// this one does not take back.
func (a account) ReturnToLease(s spentEvents) (returns [2]limiter.Events, lost int64) {
	for i, e := range s.Leases {
		a.taken -= uint32(min(e.N, int64(a.taken)))
		switch {
		case e.N == 0:
		case s.Run != uint64(a.incarnation) || e.At == 0:
			lost += e.N
		case a.grantedAt[0] == e.At && a.takesBack(0):
			a.refund(0, e.N)
		case a.grantedAt[1] == e.At && a.grantedAt[1] > a.grantedAt[0] && a.takesBack(1): // else it is older than the first, and nothing is left of it
			a.refund(1, e.N)
		default:
			returns[i] = e
			a.CancelServed(e.N)
		}
	}
	return returns, lost
}

// takesBack reports whether events may return to a lease: not to one that is spent while the other is held and a third is on its way.
func (b *hot) takesBack(lease int) bool {
	return b.remaining[lease] > 0 || b.remaining[1-lease] == 0 || !b.asking
}

// refund puts events back into a lease.
func (b *hot) refund(lease int, events int64) {
	b.remaining[lease] = clampLease(int64(b.remaining[lease]) + events)
	b.shown += events
}

// addReturn adds events that the store granted, and that were not spent, to what l returns. It reports whether there was room.
func addReturn(l *limiter.LeaseRequest, e limiter.Events) bool {
	for i := range l.Returns {
		if b := &l.Returns[i]; b.N == 0 || b.At == e.At {
			b.At, b.N = e.At, b.N+e.N
			return true
		}
	}
	return false
}

// DeniedUntil returns the retry instant of the newest answer of the store under r when it denied a take of at most cost events. It is
// 0 when the store served one since. Unlike [account.Denies], it also says so when the denial is remembered no more.
func (a account) DeniedUntil(r *limiter.Rule, cost int64) limiter.Instant {
	if !a.denies || !a.AppliesTo(r) || cost < int64(a.deniedCost) {
		return 0
	}
	return a.retryAt
}
