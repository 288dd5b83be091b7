package lease

import (
	"math"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// request fills in a lease request at now: the events that the waiting takes need, those that later
// takes will probably spend, and those that are returned. Expired leases are returned, and all
// leases if a take needs more than they hold: so no take is denied for what its own node holds.
// One such request is under way at a time.
func (a account) request(r *limiter.Rule, now instant, need, more int64, l *limiter.LeaseRequest) {
	if !a.appliesTo(r) {
		a.switchLimit(r)
	}
	*l = limiter.LeaseRequest{
		Rule: r, Key: l.Key, Need: need, More: more, Nodes: l.Nodes,
		Seen: limiter.Events{At: a.seenAt, N: a.used}, Incarnation: uint64(a.incarnation),
	}
	a.updateDemand(r, now, need+more)
	switch isBucket := r.Algorithm.Kind == limiter.TokenBucket; {
	case isBucket && (need > 0 || a.expires[1] == 0):
		a.returnPart(l, 0)
		if need > 0 && r.Leases() {
			l.Want, l.Share = a.wantPart(r, need)
		}
	case isBucket:
	default:
		for i := range a.remaining {
			if a.remaining[i] > 0 && (need > 0 || a.usable(r, i, now) == 0) {
				l.Returns[i].Events = a.eventsOf(i, int64(a.remaining[i]))
				a.remaining[i] = 0
			}
		}
		if need > 0 {
			l.Want = a.want(r, now)
		}
	}
	a.requesting = true
	a.noteRequest(now)
}

// requestNeeds fills in a request for the waiting takes alone, beside another one that is under
// way.
func (a account) requestNeeds(r *limiter.Rule, now instant, need, more int64, l *limiter.LeaseRequest) {
	if !a.appliesTo(r) {
		a.switchLimit(r)
	}
	*l = limiter.LeaseRequest{
		Rule: r, Key: l.Key, Need: need, More: more, Nodes: l.Nodes,
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
	if r.Algorithm.Kind == limiter.TokenBucket {
		kept := int64(0)
		if !idle {
			l.Want, l.Share = a.wantPart(r, int64(a.granted[1])/partEvents)
			kept = a.keepOfPart(r, now, roundTrip)
		}
		a.returnPart(l, kept)
		return
	}
	if l.Want = a.want(r, now); l.Want == 0 {
		return
	}
	for i := range a.remaining {
		if n := a.usable(r, i, now); n > 0 {
			kept := a.keepDuringRefill(r, n, a.usableFor(i, now))
			l.Returns[i].Events = a.eventsOf(i, n-kept)
			a.remaining[i] = int32(kept)
		}
	}
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
		if r.Algorithm.Kind == limiter.TokenBucket { // nor does it refill less because of them
			a.granted, a.remaining, a.share = [2]uint32{}, [2]int32{}, 0
		}
	}
	a.used, a.seenAt, a.incarnation = r.Capacity()-d.Remaining, d.At, uint32(l.Incarnation)
	a.rebase(sent)
	a.applyGrant(r, sent, now, l, d.At)
	if newWindow || r.Strict || a.basis == local {
		a.shown, a.shownAt = r.Capacity(), float32(now.since(a.base))
	}
	a.basis = reported
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
	switch {
	case l.Granted+l.GrantedShare == 0:
		return
	case r.Algorithm.Kind == limiter.TokenBucket:
		a.addPart(r, sent, now, l, granted)
		return
	}
	lasts := int64(l.Expires-l.Decision.At) - r.LeaseMargin()
	if r.LeaseSlot() == 0 {
		lasts = min(lasts, r.LeaseTime())
	}
	if !a.appliesTo(r) { // the limit has changed since the request
		lasts = 0
	}
	a.addLease(l.Granted, granted, (sent.since(a.base)+lasts)/1000)
}

// addLease adds a lease as the newer one; expires is in ms after base. An account with two leases
// requests no third, but a take that is undone meanwhile may bring one back. Then the two become
// one, which expires and is named as the older.
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
	a.expires[newer] = uint16(max(0, min(expires, math.MaxUint16)))
}

// leaseSize returns events as the size of a lease. What a node wants is far below the largest one.
func leaseSize(events int64) uint32 { return uint32(min(events, math.MaxInt32)) }

// noteRequest notes that a request is sent at now.
func (a account) noteRequest(now instant) {
	if a.base == 0 {
		a.rebase(now)
	}
	a.requestedAfter = uint32(min(a.sinceBase(now)/1000, math.MaxUint32))
}

// requestedAt returns when the newest request was sent, in whole ms.
func (a account) requestedAt() instant {
	return a.base.plus(int64(a.requestedAfter) * 1000)
}

// rebase makes base, in whole ms, the instant that the account's times count from.
func (a account) rebase(base instant) {
	base -= base % 1000
	later := base.since(a.base)
	for i := range a.expires {
		a.expires[i] = uint16(max(0, int64(a.expires[i])-later/1000))
	}
	a.arrivedAfter = uint32(max(0, int64(a.arrivedAfter)-later))
	a.shownAt -= float32(later)
	a.requestedAfter = uint32(max(0, int64(a.requestedAfter)-later/1000))
	a.owedAfter = uint32(max(0, int64(a.owedAfter)-later/1000))
	a.base = base
}
