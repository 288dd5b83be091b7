package lease

import (
	"math"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// request fills in l, a lease request at now, which has the content everything: the events that the
// waiting takes need, those that later takes will probably spend, and those that are returned. An
// account has one such request under way at a time.
func (a account) request(r *limiter.Rule, now instant, need, more int64, l *limiter.LeaseRequest) {
	a.requestNeeds(r, now, need, more, l)
	kindOf(r).fill(a, r, now, l)
	if need > 0 {
		a.wantBusy(r, now, l)
	}
}

// requestNeeds fills in l with the events that the waiting takes need, and with nothing else. Such
// a request may be under way beside another one.
func (a account) requestNeeds(r *limiter.Rule, now instant, need, more int64, l *limiter.LeaseRequest) {
	if !a.appliesTo(r) {
		a.switchLimit(r)
	}
	*l = limiter.LeaseRequest{
		Rule: r, Key: l.Key, Nodes: l.Nodes, Need: need, More: more,
		Seen: limiter.Events{At: a.seenAt, N: a.used}, Incarnation: uint64(a.incarnation),
	}
	a.requesting = true
	a.noteRequest(r, now, need+more)
}

// requestRefill fills in l, a request for which no take waits, when the leases run low or expire.
// It returns the events of the leases, except those that takes may spend until the reply. So a key
// in steady use costs the store one request per lease.
func (a account) requestRefill(r *limiter.Rule, now instant, roundTrip int64, l *limiter.LeaseRequest) {
	if a.hasPart() && a.partIsIdle(r, now) {
		a.requestReturn(r, now, l)
		return
	}
	a.request(r, now, 0, 0, l)
	kindOf(r).refill(a, r, now, roundTrip, l)
	a.wantBusy(r, now, l)
}

// requestReturn fills in l, a request that returns the parts of a bucket and wants nothing.
func (a account) requestReturn(r *limiter.Rule, now instant, l *limiter.LeaseRequest) {
	a.request(r, now, 0, 0, l)
	a.returnPart(l, 0)
}

// hasNews reports whether the lender should hear of expired leases or of debt. It reports false
// while a request is under way.
func (a account) hasNews(r *limiter.Rule, now instant) bool {
	expired, _ := a.nextReturn(r, now)
	return !a.requesting && (expired || a.debt > 0)
}

// needsRefill reports whether a request should be sent in the background before takes have to wait.
// It should be if there is debt, if the lease is low or expires soon, or if the remembered denial
// of a busy key ends soon.
func (a account) needsRefill(r *limiter.Rule, now instant, roundTrip int64) bool {
	switch {
	case a.requesting:
		return false
	case a.debt > 0:
		return true
	case a.exhausted(r, now):
		return a.shouldRenewDenial(r, now)
	}
	return kindOf(r).isLow(a.hot, r, now, roundTrip)
}

// demandHorizon is the number of lease times in which the weight of an event in the demand falls to
// 1/e.
const demandHorizon = 2

// noteRequest notes that a request for takes of this many events is sent at now. It adds these
// events to the demand, and those that were spent since the previous request. It is also called for
// a take that sends no request because the lender is known to be in an outage: that take is demand
// too.
func (a account) noteRequest(r *limiter.Rule, now instant, events int64) {
	elapsed := float64(a.sinceRequest(now))
	a.demand *= float32(math.Exp(-elapsed / float64(demandHorizon*r.LeaseTime())))
	a.demand += float32(a.taken) + float32(events)
	a.recent *= float32(math.Exp(-elapsed / recentHorizon))
	a.recent += float32(a.taken) + float32(events)
	a.taken = 0
	if a.base == 0 {
		a.rebase(now)
	}
	a.requestedAfter = uint32(min(a.sinceBase(now)/1000, math.MaxUint32))
}

// applyReply applies the reply l of the store to a request that was sent at sent. A denial is
// remembered for jitter µs longer than the store said, so that not all nodes ask again at once. It
// is not remembered if the limit has changed since the request. Nor is it if unreturned is set:
// then nodes have events to return that may admit the take.
func (a account) applyReply(r *limiter.Rule, sent, now instant, l *limiter.LeaseRequest, jitter int64, unreturned bool) {
	d := &l.Decision
	newWindow := a.seenAt == 0 ||
		r.Algorithm.Kind == limiter.FixedWindow && r.UntilNext(a.seenAt) <= int64(d.At-a.seenAt)
	a.requesting = false
	if l.Incarnation != uint64(a.incarnation) { // this incarnation has not granted the leases
		a.grantedAt = [2]limiter.Instant{}
		kindOf(r).outlive(a.hot, false)
	}
	a.noteScarcity(r, d.At)
	a.used, a.seenAt, a.incarnation = r.Capacity()-d.Remaining, d.At, uint32(l.Incarnation)
	a.ample = l.Ample
	a.rebase(sent)
	a.applyGrant(r, sent, now, l, d.At)
	if newWindow || r.Strict || a.inOutage {
		a.shown, a.shownAt = r.Capacity(), float32(now.since(a.base))
	}
	a.inOutage = false
	a.accrue(r, now)
	a.shown = min(a.shown, a.total(r, a.leased(r, now))+l.Served) // from which the waiters are served
	switch denial := l.Denial(); {
	case !a.appliesTo(r): // the limit has changed since the request
	case denial == nil:
		if l.Need > 0 {
			a.clearDenial()
		}
	case !unreturned && l.Need <= math.MaxUint32:
		denied := *l
		denied.Decision = *denial
		a.deny(sent, now, &denied, jitter)
		denial.Breach, denial.RetryAt = denied.Decision.Breach, denied.Decision.RetryAt
	}
}

// applyOlderReply applies a reply that olderThanNewest is true for. It adds the grant. It changes
// neither what the account knows of the store nor the denial.
func (a account) applyOlderReply(r *limiter.Rule, sent, now instant, l *limiter.LeaseRequest) {
	granted := l.Decision.At
	if l.Incarnation != uint64(a.incarnation) {
		granted = 0
	}
	a.applyGrant(r, sent, now, l, granted)
	// The waiters are served from this. The newest reply has counted their events as used.
	a.shown = min(a.shown+l.Served, r.Capacity())
}

// olderThanNewest reports whether the reply l is older than the newest reply. asked is the
// incarnation that the request was for. Of two requests under way, either may be answered first:
// then the later reply has the earlier instant. If the instant is earlier by more than
// limiter.LateReading, the clock of the store was set back instead.
func (a account) olderThanNewest(l *limiter.LeaseRequest, asked uint64) bool {
	if l.Incarnation != uint64(a.incarnation) {
		return a.seenAt != 0 && l.Incarnation == asked // another one has answered since
	}
	return l.Decision.At < a.seenAt && a.seenAt-l.Decision.At <= limiter.LateReading
}

// applyGrant adds the lease that the reply l grants. The request was sent at sent. granted is the
// name of the lease in returns.
func (a account) applyGrant(r *limiter.Rule, sent, now instant, l *limiter.LeaseRequest, granted limiter.Instant) {
	if l.Granted+l.GrantedShare > 0 {
		kindOf(r).add(a, r, sent, now, l, granted)
	}
}

// sinceBase returns how long ago base was, in µs.
func (h *hot) sinceBase(now instant) int64 { return max(0, now.since(h.base)) }

// requestedAt returns when the newest request was sent, in whole ms.
func (a account) requestedAt() instant {
	return a.base.plus(int64(a.requestedAfter) * 1000)
}

// sinceRequest returns how long ago the newest request was sent, in µs.
func (a account) sinceRequest(now instant) int64 {
	return max(0, now.since(a.requestedAt()))
}

// idleSince returns when the account was last used, as far as it can tell at now.
func (a account) idleSince(now instant) instant {
	return min(now, max(a.base.plus(int64(a.shownAt)), a.requestedAt(), a.localAt))
}

// rebase makes base, in whole ms, the instant from which the account's times count.
func (a account) rebase(base instant) {
	base -= base % 1000
	later := base.since(a.base)
	for i := range a.expires {
		a.expires[i] = uint32(max(0, int64(a.expires[i])-later/1000))
	}
	a.arrivedAfter = uint32(max(0, int64(a.arrivedAfter)-later))
	if a.windowEnds > 0 {
		a.windowEnds = 1 // the next take works it out anew
	}
	a.shownAt -= float32(later)
	a.requestedAfter = uint32(max(0, int64(a.requestedAfter)-later/1000))
	a.debtAfter = uint32(max(0, int64(a.debtAfter)-later/1000))
	a.base = base
}
