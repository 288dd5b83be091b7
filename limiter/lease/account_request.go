package lease

import (
	"math"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// request fills in a lease request at now: the events that the waiting takes need, those that later
// takes will probably spend, and those that are returned. One such request is under way at a time.
func (a account) request(r *limiter.Rule, now instant, need, more int64, l *limiter.LeaseRequest) {
	a.requestNeeds(r, now, need, more, l)
	kindOf(r).fill(a, r, now, l)
}

// requestNeeds fills in a request for the waiting takes alone, beside another one that is under
// way.
func (a account) requestNeeds(r *limiter.Rule, now instant, need, more int64, l *limiter.LeaseRequest) {
	if !a.appliesTo(r) {
		a.switchLimit(r)
	}
	*l = limiter.LeaseRequest{
		Rule: r, Key: l.Key, Nodes: l.Nodes, Need: need, More: more,
		Seen: limiter.Events{At: a.seenAt, N: a.used}, Incarnation: uint64(a.incarnation),
	}
	a.updateDemand(r, now, need+more)
	a.requesting = true
	a.noteRequest(now)
}

// requestRefill fills in a request that no take waits for, as the leases run low or expire. It
// returns their events, except those that are kept to be spent until the reply. So a key in steady
// use costs the store one request per lease.
func (a account) requestRefill(r *limiter.Rule, now instant, roundTrip int64, l *limiter.LeaseRequest) {
	idle := a.hasPart() && a.partIsIdle(r, now)
	a.request(r, now, 0, 0, l)
	kindOf(r).refill(a, r, now, roundTrip, idle, l)
}

// hasNews reports whether the lender should hear of expired leases or of debt of a, which has no
// request under way.
func (a account) hasNews(r *limiter.Rule, now instant) bool {
	expired, _ := a.nextReturn(r, now)
	return !a.requesting && (expired || a.debt > 0)
}

// applyReply applies the store's reply to a request that was sent at sent. A denial is remembered
// for jitter µs longer than the store said, so that not all nodes ask again at once. It is not
// remembered if the limit has changed since the request, or if unreturned is set: this node still
// had events to return, and they may admit the take.
func (a account) applyReply(r *limiter.Rule, sent, now instant, l *limiter.LeaseRequest, jitter int64, unreturned bool) {
	d := &l.Decision
	newWindow := a.seenAt == 0 ||
		r.Algorithm.Kind == limiter.FixedWindow && r.UntilNext(a.seenAt) <= int64(d.At-a.seenAt)
	a.requesting = false
	if l.Incarnation != uint64(a.incarnation) { // it does not know the leases, or has lost them: they cannot go back
		a.grantedAt = [2]limiter.Instant{}
		kindOf(r).outlive(a.hot, false)
	}
	a.noteScarcity(r, d.At)
	a.used, a.seenAt, a.incarnation = r.Capacity()-d.Remaining, d.At, uint32(l.Incarnation)
	a.rebase(sent)
	a.applyGrant(r, sent, now, l, d.At)
	if newWindow || r.Strict || a.inOutage {
		a.shown, a.shownAt = r.Capacity(), float32(now.since(a.base))
	}
	a.inOutage = false
	a.accrue(r, now)
	a.shown = min(a.shown, a.total(r, now)+l.Served) // until the waiters are served
	switch denial := l.Denial(); {
	case l.Need == 0 || !a.appliesTo(r): // the limit has changed since the request
	case denial == nil:
		a.clearDenial()
	case !unreturned && l.Need <= math.MaxUint32:
		denied := *l
		denied.Decision = *denial
		a.deny(sent, now, &denied, jitter)
		denial.Breach, denial.RetryAt = denied.Decision.Breach, denied.Decision.RetryAt
	}
}

// applyOlderReply applies a reply that olderThanNewest. It changes neither the state nor the
// denial.
func (a account) applyOlderReply(r *limiter.Rule, sent, now instant, l *limiter.LeaseRequest) {
	granted := l.Decision.At
	if l.Incarnation != uint64(a.incarnation) {
		granted = 0
	}
	a.applyGrant(r, sent, now, l, granted)
	a.shown = min(a.shown+l.Served, r.Capacity()) // until the waiters are served: the newest reply has counted them
}

// olderThanNewest reports whether the reply to l is older than the newest one. asked is the
// incarnation that the request was for. Of two requests under way, either may be answered first. If
// the clock of the store is set back, it answers an instant that is earlier by more than
// limiter.LateReading, or none that is earlier.
func (a account) olderThanNewest(l *limiter.LeaseRequest, asked uint64) bool {
	if l.Incarnation != uint64(a.incarnation) {
		return a.seenAt != 0 && l.Incarnation == asked // another one has answered since
	}
	return l.Decision.At < a.seenAt && a.seenAt-l.Decision.At <= limiter.LateReading
}

// applyGrant adds the lease in the reply to a request that was sent at sent, under the name
// granted.
func (a account) applyGrant(r *limiter.Rule, sent, now instant, l *limiter.LeaseRequest, granted limiter.Instant) {
	if l.Granted+l.GrantedShare > 0 {
		kindOf(r).add(a, r, sent, now, l, granted)
	}
}
