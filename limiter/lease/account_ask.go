package lease

import (
	"math"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// Asking reports whether a loan is under way.
func (b *hot) Asking() bool { return b.asking }

// Ask prepares a loan at now: what waiting takes need, what is expected to be spent once they are served, and what goes back. That
// is what can be spent no more, and all that is leased when a take needs more than that: so it is not denied for what its own node
// holds. Until the loan is answered, or [account.Fail] is called, no other may be asked for.
func (a account) Ask(r *limiter.Rule, now limiter.Instant, need, more int64, l *limiter.LeaseRequest) {
	if !a.AppliesTo(r) {
		a.switchLimit(r)
	}
	*l = limiter.LeaseRequest{
		Rule: r, Key: l.Key, Need: need, More: more, Nodes: l.Nodes,
		CreditTotal: a.creditTotal, SettledTotal: a.paid(),
		Seen: limiter.Events{a.seenAt, a.used}, Incarnation: uint64(a.incarnation),
	}
	a.updateDemand(r, now, need+more)
	for i := range a.remaining {
		if a.remaining[i] > 0 && (need > 0 || a.usable(i, now) == 0) {
			l.Returns[i] = limiter.Events{a.grantedAt[i], int64(a.remaining[i])}
			a.remaining[i] = 0
		}
	}
	if need > 0 {
		l.Want = a.want(r, now)
	}
	a.asking = true
	a.noteAsked(now)
}

// Refill prepares a loan at now that no take waits for, when the account is low or renews its lease: what is expected to be spent.
// What is left goes back with it, but for what is kept until the answer is there: so a key in steady use costs the store one request
// for as long as a lease lasts.
func (a account) Refill(r *limiter.Rule, now limiter.Instant, l *limiter.LeaseRequest) {
	a.Ask(r, now, 0, 0, l)
	if l.Want = a.want(r, now); l.Want == 0 {
		return
	}
	for i := range a.remaining {
		if n := a.usable(i, now); n > 0 {
			kept := a.keepDuringRefill(r, n, a.usableFor(i, now))
			l.Returns[i] = limiter.Events{a.grantedAt[i], n - kept}
			a.remaining[i] = uint32(kept)
		}
	}
}

// Answer notes the answer to a loan at now, which was asked for at the instant asked. A denial is remembered for a second at most,
// as other nodes may give back what they have leased, and by so many µs longer than the store said, so that not all nodes ask
// again at once; unless forget says that something of this node's own was still to be given back.
func (a account) Answer(r *limiter.Rule, asked, now limiter.Instant, l *limiter.LeaseRequest, jitter int64, forget bool) {
	d := &l.Decision
	fresh := a.seenAt == 0 || r.Algorithm.Kind == limiter.FixedWindow && a.seenAt+limiter.Instant(r.UntilNext(a.seenAt)) <= d.At
	a.asking = false
	if l.Incarnation != uint64(a.incarnation) { // that does not know the lots, or has lost them: they go nowhere
		a.grantedAt = [2]limiter.Instant{}
	}
	a.used, a.seenAt, a.incarnation = r.Capacity()-d.Remaining, d.At, uint32(l.Incarnation)
	a.hear(asked)
	a.settle(l.CreditTotal - a.paid()) // it may be of a window before
	a.credit = 0
	other := !a.AppliesTo(r) // there is a new limit since then
	if l.Granted > 0 {
		lasts := int64(l.Expires-d.At) - r.LeaseMargin()
		if r.LeaseSlot() == 0 {
			lasts = min(lasts, r.LeaseTime())
		}
		if other {
			lasts = 0
		}
		ends := (int64(asked-a.heardAt) + lasts) / 1000
		a.store(l.Granted, d.At, uint16(min(ends, math.MaxUint16)))
	}
	if fresh || r.Strict {
		a.shown, a.shownAt = r.Capacity(), float32(now-a.heardAt)
	}
	a.guesses = false
	a.accrue(r, now)
	a.shown = min(a.shown, a.total(r)+l.Served) // until those who are served have been told
	switch {
	case l.Need == 0 || other:
	case d.OK:
		a.denies = false
	case !forget && l.Need <= math.MaxUint32:
		a.deny(now, l, jitter)
		if r.Strict {
			a.denyExactly(asked, now, l)
		}
	}
}

// noteAsked notes that the store is asked at now.
func (a account) noteAsked(now limiter.Instant) {
	if a.heardAt == 0 {
		a.hear(now)
	}
	a.askedAfter = uint32(min(a.sinceHeard(now)/1000, math.MaxUint32))
}

// askedAt returns when the store was asked last, cut off to whole ms.
func (a account) askedAt() limiter.Instant { return a.heardAt + limiter.Instant(a.askedAfter)*1000 }

// sinceAsked returns how many µs ago the store was asked last.
func (a account) sinceAsked(now limiter.Instant) int64 { return max(0, int64(now-a.askedAt())) }

// hear makes asked, cut off to whole ms, the instant that the times of the account count from.
func (a account) hear(asked limiter.Instant) {
	asked -= asked % 1000
	later := asked - a.heardAt
	for i := range a.expires {
		a.expires[i] = uint16(max(0, int64(a.expires[i])-int64(later)/1000))
	}
	a.shownAt -= float32(later)
	a.askedAfter = uint32(max(0, int64(a.askedAfter)-int64(later)/1000))
	a.heardAt = asked
}

// clampLease returns n as the size of a lot: no larger than it can be. What a node asks for is far below that, see maxLot.
func clampLease(n int64) uint32 { return uint32(min(n, math.MaxUint32)) }

// store adds a lot as the newer one. Who holds two asks for no third, but a take that is undone may bring one back in between:
// then the two become one, which ends and is named as the older.
func (a account) store(n int64, at limiter.Instant, ends uint16) {
	if a.remaining[0] == 0 {
		a.grantedAt[0], a.expires[0] = a.grantedAt[1], a.expires[1]
	}
	a.remaining[0] = clampLease(a.held())
	a.remaining[1] = 0
	newer := 0
	if a.remaining[0] > 0 {
		newer = 1
	}
	a.remaining[newer], a.grantedAt[newer], a.expires[newer] = clampLease(n), at, ends
}

// maxDenialMemory is how long a denial is remembered at most, in µs.
const maxDenialMemory = 1_000_000

// deny remembers the denial of l, and marks it when it is the first on this node in a window.
func (a account) deny(now limiter.Instant, l *limiter.LeaseRequest, jitter int64) {
	// The store does not know what it has denied before: nodes deny most of the time without it.
	second := uint32(now / 1_000_000)
	l.Decision.Breach = a.breachAt == 0 || int64(second-a.breachAt) >= max(1, l.Rule.Limit.Window.Microseconds()/1_000_000)
	if l.Decision.Breach {
		a.breachAt = second
	}
	a.retryAt = limiter.Never
	if d := &l.Decision; d.RetryAt != limiter.Never {
		a.retryAt = now + (d.RetryAt - d.At) + limiter.Instant(jitter)
	}
	a.denies, a.deniedCost = true, uint32(l.Need)
	a.deniedUntil = min(a.retryAt, now+maxDenialMemory)
}

// Fail notes that the outcome of a loan is unknown. What was to go back is lost; what is owed will be told again.
func (b *hot) Fail() { b.asking = false }

// Served tells the account what was served to takes that waited, and returns what clients are told to remain after it.
func (b *hot) Served(cost int64) int64 {
	b.shown = max(0, b.shown-cost)
	return b.shown
}

// CancelServed tells the account that what was served is undone.
func (b *hot) CancelServed(cost int64) {
	b.shown += cost
	b.used = max(0, b.used-cost)
}
