package leasetest

import "github.com/fleetlimit/fleetlimit/limiter"

// ample reports whether the bucket lacks at most half of its capacity beyond what its parts hold.
// After a recall, it is not ample until it may recall its parts again.
func (b *lendingBucket) ample(r *limiter.Rule) bool {
	return b.recalledAt == 0 && !b.isOverdrawn() && b.isHalfFull(r)
}

// isOverdrawn reports whether events are set aside or were charged: then neither the overflow nor a
// recall is stored.
func (b *lendingBucket) isOverdrawn() bool { return b.aside > 0 || b.charged }

func (b *lendingBucket) isHalfFull(r *limiter.Rule) bool {
	return 2*(b.missing-b.holds(r)) <= r.Capacity()
}

// lend grants a part, if there is room for one beside the others. A part that is too small to be of
// use is not granted.
func (b *lendingBucket) lend(l *limiter.LeaseRequest) {
	r := l.Rule
	if b.missing > r.Capacity() { // of a limit that was lowered, or because of charges
		return
	}
	if !b.open() {
		b.overflow = overflow{}
	}
	ample := b.ample(r)
	if l.Incarnation == 0 || !b.begin(b.at, r.LeaseSlot(), ample) { // else it cannot be returned
		return
	}
	events, share := b.smallPart(l)
	if ample {
		events, share = b.largePart(l), 0
	}
	lasts := int64(b.lentUntil() - b.at)
	refill, per := r.Rate()
	if n, _ := mulAddDiv(share*lasts/limiter.Shares, refill, 0, per); events+n < limiter.MinPart {
		return
	}
	if soon, _ := mulAddDiv(share*maxWait/limiter.Shares, refill, 0, per); soon < 1 && b.missing >= r.Capacity() {
		return // others would wait for it
	}
	b.grant(b.at, events, share)
	b.missing += events
	if share > 0 {
		b.overflow = overflow{}
	}
	l.Granted, l.GrantedShare, l.Expires = events, share, b.lentUntil()
}

// largePart returns the part that an ample bucket grants: all that is wanted, but at most an eighth of
// the capacity, and at most the fair part of a node of what is there, or a tenth of the room if that is
// more. All parts together can hold two fifths of the capacity in a fleet of ten nodes or less, and four
// fifths in one of twenty or more: the more nodes there are, the smaller are their parts.
func (b *lendingBucket) largePart(l *limiter.LeaseRequest) (events int64) {
	capacity := l.Rule.Capacity()
	left, room := capacity-b.missing, capacity*max(40, min(80, l.Divisor()))/100-b.most(l.Rule)
	if l.Need > 0 && l.Served == 0 {
		return 0
	}
	fair := 16 * (left + b.holds(l.Rule)) / (5 * l.Divisor())
	return max(0, min(l.Want, max(fair, room/10), room, left, capacity/8))
}

// smallPart returns the part that another bucket grants: of what is left at most one event in
// l.Divisor, and at most half of the refill that no part has. All parts together can hold half of the
// capacity. An empty bucket grants a share alone, and none that does not accrue an event within two
// seconds.
func (b *lendingBucket) smallPart(l *limiter.LeaseRequest) (events, share int64) {
	r := l.Rule
	room := r.Capacity()/2 - b.most(r)
	if room < limiter.MinPart {
		return 0, 0
	}
	events = min(lendable(l, r.Capacity()-b.missing), room)
	lasts := int64(b.lentUntil() - b.at)
	refill, per := r.Rate()
	fits, _ := mulAddDiv(room-events, per, 0, refill) // µs of the whole refill
	fits, _ = mulAddDiv(fits, limiter.Shares, 0, lasts)
	free := limiter.Shares - b.shares()
	return events, max(0, min(l.Share, free/2, free-unshared(r), fits))
}

// takeBack closes a part. The bucket gets what it has accrued and was not spent, and what it has
// refilled in vain since events of the part were spent.
func (b *lendingBucket) takeBack(r *limiter.Rule, e limiter.Return, spends limiter.Spends) {
	if b.promised(r) || !b.parts.takeBack(e, b.at) {
		return
	}
	us := e.Share * int64(b.at-e.At) / limiter.Shares
	if e.Share == 0 && r.Leases() && b.length == r.LeaseSlot() {
		us += b.overflow.pay(r, spends, e.Spent, overflowUnit(b.length))
	}
	refill, per := r.Rate()
	events, fraction := mulAddDiv(us, refill, b.fraction, per)
	if back := events + e.N - e.Spent; back >= 0 {
		b.lack(r, b.missing-back, fraction)
	}
}

// noteOverflow notes that the bucket was full at the end of the time since from. If its parts held
// nothing, it would lack lacks events less a fraction now.
func (b *lendingBucket) noteOverflow(r *limiter.Rule, from limiter.Instant, lacks, fraction int64) {
	if !b.open() || b.shares() > 0 || b.isOverdrawn() {
		return
	}
	unit := overflowUnit(b.length)
	lost := b.missing - lacks
	if fraction < b.fraction {
		lost--
	}
	if lost > 0 {
		refill, per := r.Rate()
		us, _ := mulAddDiv(lost, per, 0, refill)
		b.overflow.add(max(from, b.at-limiter.Instant(min(us, int64(b.at)))), b.at, unit)
	}
	b.overflow.moveTo(b.at, unit)
}

// forget forgets what is not stored while parts have shares or events are set aside.
func (b *lendingBucket) forget() {
	if b.isOverdrawn() {
		b.overflow, b.recalledAt = overflow{}, 0
	}
	if !b.open() || b.shares() > 0 {
		b.overflow = overflow{}
	}
	if b.recalledAt != 0 {
		b.recalledAt = max(b.recalledAt, b.at-mostSince)
	}
}

// mostSince is the longest time since a recall that is stored, in µs.
const mostSince = 1<<32 - 1

// recall recalls the parts, if a take is denied or few events are left although the parts hold an
// eighth of the capacity. It reports whether it does: not again before the bucket was half full.
func (b *lendingBucket) recall(r *limiter.Rule, denies bool) bool {
	few := denies || 10*(r.Capacity()-b.missing) < r.Capacity()
	if !few || b.recalledAt != 0 || b.isOverdrawn() || !b.open() || 8*b.holds(r) < r.Capacity() {
		return false
	}
	b.recalledAt = b.at
	return true
}

// rearm allows a further recall when the bucket is half full and the last one was long ago: a quarter
// of the time in which the bucket fills, but half a second at least and a minute at most.
func (b *lendingBucket) rearm(r *limiter.Rule) {
	wait := max(500_000, min(60_000_000, r.TimeFor(r.Capacity())/4))
	if b.recalledAt != 0 && int64(b.at-b.recalledAt) >= wait && b.isHalfFull(r) {
		b.recalledAt = 0
	}
}
