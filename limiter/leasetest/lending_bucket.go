package leasetest

import "github.com/fleetlimit/fleetlimit/limiter"

// A lendingBucket is a token bucket that lends.
//
// A leased event has left the bucket and may be spent much later, when the bucket has refilled in
// its place. So the bucket stops refilling while its events and the leased ones exceed its capacity
// by what accrues in a slot. In any span, no more is spent than the capacity, what accrues in the
// span, and that.
type lendingBucket struct {
	leaseSlots
	at      limiter.Instant
	missing int64 // whole events that the bucket lacks
	part    int64 // accrued towards the next event, in 1/per events
	per     int64 // the denominator of part

	// Events that the bucket lacks beyond twice the capacity, which do not count under the limit of
	// this capacity.
	aside, asideUnder int64
}

func (b *lendingBucket) clone() lendingCount {
	c := *b
	return &c
}

func (b *lendingBucket) newest() limiter.Instant { return b.at }

func (b *lendingBucket) consumed() int64 { return b.missing }

// advance accounts for the time up to now slot by slot, as each holds up the refill by the events
// that it has lent.
func (b *lendingBucket) advance(r *limiter.Rule, now limiter.Instant) (moved bool) {
	b.switchLimit(r)
	at, setBack := follow(b.at, now)
	if setBack {
		b.leaseSlots.follow(at)
	}
	for b.out() > 0 && at >= b.ends {
		b.refill(r, b.ends)
		b.rotate()
	}
	b.refill(r, at)
	return setBack
}

// asideBits is how many bits of a capacity are known of the events that are set aside.
const asideBits = 23

// switchLimit carries the bucket over to the limit of r.
func (b *lendingBucket) switchLimit(r *limiter.Rule) {
	if _, per := r.Rate(); per != b.per {
		if b.part > 0 {
			b.part, _ = mulAddDiv(b.part, per, 0, b.per)
		}
		b.per = per
	}
	under := r.Capacity() % (1 << asideBits)
	if b.asideUnder != under {
		b.missing, b.aside = min(b.missing+b.aside, maxConsumed), 0
	}
	b.asideUnder = under
	if over := b.missing - 2*r.Capacity(); over > 0 {
		b.missing -= over
		b.aside = min(b.aside+over, maxConsumed)
	}
}

// refill accounts for the time up to at, in the current slot. Nothing accrues when the clock was
// set back.
func (b *lendingBucket) refill(r *limiter.Rule, at limiter.Instant) {
	least, elapsed := min(b.missing, b.heldUp(r)), max(0, at-b.at)
	if b.at = at; b.missing+b.aside > 0 {
		refill, per := r.Rate()
		events, part := mulAddDiv(int64(elapsed), refill, b.part, per)
		if b.part = part; events >= b.missing {
			if b.out() == 0 {
				b.aside = max(0, b.aside+b.missing-events)
			}
			events, b.part = b.missing, 0
		}
		b.missing -= events
	}
	if b.missing <= least { // without a fraction, so that the number of calls does not matter
		b.missing, b.part = least, 0
	}
}

// heldUp returns how many events the bucket lacks to the end of the current slot.
func (b *lendingBucket) heldUp(r *limiter.Rule) int64 {
	if b.out() == 0 {
		return 0
	}
	refill, per := r.Rate()
	accrues, _ := mulAddDiv(b.length, refill, 0, per)
	return max(0, b.out()-accrues)
}

// accrued returns the instant at which n > 0 more events are in the bucket.
func (b *lendingBucket) accrued(r *limiter.Rule, n int64) limiter.Instant {
	c := *b
	goal := c.missing - n
	for c.out() > 0 {
		if at := c.accruedUnheld(r, c.missing-goal); goal >= c.heldUp(r) && at <= c.ends {
			return at
		}
		c.refill(r, c.ends)
		c.rotate()
	}
	return c.accruedUnheld(r, c.missing-goal)
}

// accruedUnheld is accrued when no lease holds up the refill. It returns the first instant at
// which part + µs*refill >= n*per.
func (b *lendingBucket) accruedUnheld(r *limiter.Rule, n int64) limiter.Instant {
	refill, per := r.Rate()
	us, rest := mulAddDiv(n, per, 0, refill)
	if ahead := b.part - rest; ahead >= 0 {
		us -= ahead / refill
	} else {
		us++ // rest < refill, so one microsecond is enough
	}
	if us > int64(limiter.Never-b.at) {
		return limiter.Never
	}
	return b.at + limiter.Instant(us)
}

func (b *lendingBucket) decide(d *limiter.Decision, r *limiter.Rule, ok bool, cost int64) {
	if decide(d, r, b.at, b.missing, ok, cost) {
		d.RetryAt = b.accrued(r, cost-(r.Capacity()-b.missing))
		capRetry(d, b.leasedUntil())
	}
	if b.missing > 0 {
		d.ResetAt = b.accrued(r, b.missing)
	}
}

func (b *lendingBucket) consume(_ *limiter.Rule, n int64) { b.missing += n }

func (b *lendingBucket) lend(r *limiter.Rule, n int64) {
	b.leaseSlots.lend(b.at, r.LeaseSlot(), n)
	b.missing += n
}

func (b *lendingBucket) takeBack(r *limiter.Rule, e limiter.Events) {
	b.lack(r, b.missing-b.leaseSlots.takeBack(e), b.part, 0)
}

// lack gives back events, so that the bucket lacks n less part, but no less than least. Of a bucket
// that nothing was taken from since the limit was lowered, those that are set aside come first.
func (b *lendingBucket) lack(r *limiter.Rule, n, part, least int64) {
	if b.missing > r.Capacity() {
		back := min(b.missing-n, b.aside)
		b.aside -= back
		n += back
	}
	if b.missing, b.part = n, part; n <= least {
		b.missing, b.part = least, 0
	}
}

// cancel gives back no more than the bucket has lacked ever since.
//
// What was seen at the instant of e is what the bucket lacked then, events included. If some of
// that was returned or canceled since, as much may be given back too much, but never more than e.N.
func (b *lendingBucket) cancel(r *limiter.Rule, e, seen limiter.Events) {
	least, lacked := max(0, min(b.missing, b.heldUp(r))), e.N
	if seen.At == e.At {
		lacked = max(lacked, seen.N)
	}
	if e.At > b.at { // the clock was set back since: nobody knows how long the bucket has refilled
		return
	}
	refill, per := r.Rate()
	events, part := mulAddDiv(int64(b.at-e.At), refill, 0, per) // accrued since, if never full
	if lacked > e.N {
		if part > b.part {
			events++ // the fraction that there was before has become one
		}
		part = b.part
	}
	switch most := lacked - events; { // less part
	case most > e.N, most == e.N && part == 0:
		b.lack(r, b.missing-e.N, b.part, least)
	case most <= 0:
		b.lack(r, b.missing, b.part, least)
	case b.part >= part:
		b.lack(r, b.missing-most, b.part-part, least)
	default:
		b.lack(r, b.missing-most+1, b.part-part+per, least)
	}
}

// restoreSeen begins without a fraction: replies do not have it.
func (b *lendingBucket) restoreSeen(_ *limiter.Rule, n int64) {
	if n > b.missing {
		b.missing, b.part = n, 0
	}
}

// addQuota does not give back leased events, which are when they are returned.
func (b *lendingBucket) addQuota(n int64) {
	if b.missing = max(b.missing-n, min(b.missing, b.out())); b.missing == 0 {
		b.part = 0
	}
}
