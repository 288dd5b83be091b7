package limiter

import "math"

// Asking reports whether a loan is under way.
func (b *Balance) Asking() bool { return b.asking }

// Ask prepares a loan at now: what waiting takes need, what is expected to be spent once they are served, and what goes back. That
// is what can be spent no more, and all that is leased when a take needs more than that: so it is not denied for what its own node
// holds. Until the loan is answered, or [Account.Fail] is called, no other may be asked for.
func (a Account) Ask(r *Rule, now Instant, need, more int64, l *Loan) {
	if !a.Under(r) {
		a.adopt(r)
	}
	*l = Loan{
		Rule: r, Key: l.Key, Need: need, More: more, Nodes: l.Nodes,
		Owed: a.owed, Paid: a.paid(),
		Seen: Events{a.seenAt, a.used}, Run: uint64(a.run),
	}
	a.measure(r, now, need+more)
	for i := range a.left {
		if a.left[i] > 0 && (need > 0 || a.lot(i, now) == 0) {
			l.Back[i] = Events{a.at[i], int64(a.left[i])}
			a.left[i] = 0
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
func (a Account) Refill(r *Rule, now Instant, l *Loan) {
	a.Ask(r, now, 0, 0, l)
	if l.Want = a.want(r, now); l.Want == 0 {
		return
	}
	for i := range a.left {
		if n := a.lot(i, now); n > 0 {
			kept := a.keep(r, n, a.lasts(i, now))
			l.Back[i] = Events{a.at[i], n - kept}
			a.left[i] = uint32(kept)
		}
	}
}

// Answer notes the answer to a loan at now, which was asked for at the instant asked. A denial is remembered for a second at most,
// as other nodes may give back what they have leased, and by so many µs longer than the store said, so that not all nodes ask
// again at once; unless forget says that something of this node's own was still to be given back.
func (a Account) Answer(r *Rule, asked, now Instant, l *Loan, jitter int64, forget bool) {
	d := &l.Decision
	fresh := a.seenAt == 0 || r.Algorithm.Kind == FixedWindow && d.At-Instant(d.At.into(r.window)) > a.seenAt
	a.asking = false
	if l.Run != uint64(a.run) { // that does not know the lots, or has lost them: they go nowhere
		a.at = [2]Instant{}
	}
	a.used, a.seenAt, a.run = r.capacity-d.Remaining, d.At, uint32(l.Run)
	a.hear(asked)
	a.settle(l.Owed - a.paid()) // it may be of a window before
	a.credit = 0
	other := !a.Under(r) // there is a new limit since then
	if l.Lent > 0 {
		lasts := int64(l.Ends-d.At) - leaseMargin(r.slot)
		if r.slot == 0 {
			lasts = min(lasts, r.leaseTime())
		}
		if other {
			lasts = 0
		}
		ends := (int64(asked-a.heardAt) + lasts) / 1000
		a.store(l.Lent, d.At, uint16(min(ends, math.MaxUint16)))
	}
	if fresh || r.Strict {
		a.shown, a.shownAt = r.capacity, float32(now-a.heardAt)
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
func (a Account) noteAsked(now Instant) {
	if a.heardAt == 0 {
		a.hear(now)
	}
	a.askedAfter = uint32(min(a.sinceHeard(now)/1000, math.MaxUint32))
}

// askedAt returns when the store was asked last, cut off to whole ms.
func (a Account) askedAt() Instant { return a.heardAt + Instant(a.askedAfter)*1000 }

// sinceAsked returns how many µs ago the store was asked last.
func (a Account) sinceAsked(now Instant) int64 { return max(0, int64(now-a.askedAt())) }

// hear makes asked, cut off to whole ms, the instant that the times of the account count from.
func (a Account) hear(asked Instant) {
	asked -= Instant(asked.into(1000))
	later := asked - a.heardAt
	for i := range a.ends {
		a.ends[i] = uint16(max(0, int64(a.ends[i])-int64(later)/1000))
	}
	a.shownAt -= float32(later)
	a.askedAfter = uint32(max(0, int64(a.askedAfter)-int64(later)/1000))
	a.heardAt = asked
}

// asLot returns n as the size of a lot: no larger than it can be. What a node asks for is far below that, see maxLot.
func asLot(n int64) uint32 { return uint32(min(n, math.MaxUint32)) }

// store adds a lot as the newer one. Who holds two asks for no third, but a take that is undone may bring one back in between:
// then the two become one, which ends and is named as the older.
func (a Account) store(n int64, at Instant, ends uint16) {
	if a.left[0] == 0 {
		a.at[0], a.ends[0] = a.at[1], a.ends[1]
	}
	a.left[0] = asLot(a.held())
	a.left[1] = 0
	newer := 0
	if a.left[0] > 0 {
		newer = 1
	}
	a.left[newer], a.at[newer], a.ends[newer] = asLot(n), at, ends
}

// remembered is how long a denial is remembered at most, in µs.
const remembered = 1_000_000

// deny remembers the denial of l, and marks it when it is the first on this node in a window.
func (a Account) deny(now Instant, l *Loan, jitter int64) {
	// The store does not know what it has denied before: nodes deny most of the time without it.
	second := uint32(now / 1_000_000)
	l.Decision.Breach = a.breachAt == 0 || int64(second-a.breachAt) >= max(1, l.Rule.window/1_000_000)
	if l.Decision.Breach {
		a.breachAt = second
	}
	a.retryAt = Never
	if d := &l.Decision; d.RetryAt != Never {
		a.retryAt = now + (d.RetryAt - d.At) + Instant(jitter)
	}
	a.denies, a.deniedCost = true, uint32(l.Need)
	a.deniedUntil = min(a.retryAt, now+remembered)
}

// Fail notes that the outcome of a loan is unknown. What was to go back is lost; what is owed will be told again.
func (b *Balance) Fail() { b.asking = false }

// Served tells the account what was served to takes that waited, and returns what clients are told to remain after it.
func (b *Balance) Served(cost int64) int64 {
	b.shown = max(0, b.shown-cost)
	return b.shown
}

// Undone tells the account that what was served is undone.
func (b *Balance) Undone(cost int64) {
	b.shown += cost
	b.used = max(0, b.used-cost)
}
