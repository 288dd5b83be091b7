package leasetest

import "github.com/fleetlimit/fleetlimit/limiter"

// A lendingBucket is a token bucket that lends parts of itself.
//
// A part is some events at once, and a share of the refill until it ends. The bucket has less by
// these events, and refills by this share less. Its level and what the parts hold never exceed the
// capacity together, and grow by the rate: so does what is left of them when a part has ended.
type lendingBucket struct {
	parts
	at       limiter.Instant
	missing  int64 // whole events that the bucket lacks
	fraction int64 // accrued towards the next event, in 1/per of it
	per      int64 // the denominator of the rate

	// Events that the bucket lacks beyond twice the capacity, which do not count under the limit of
	// this capacity.
	aside, asideUnder int64

	// Since when the bucket lacks a sixteenth of its capacity or more beyond what its parts hold, in
	// units of nearUnit, or 0 if that is not known.
	scarceSince int64

	charged bool // events were charged under this capacity: none are set aside

	overflow   overflow
	recalledAt limiter.Instant // when the parts were recalled; 0 if they may be recalled
}

func (b *lendingBucket) clone() lendingCount {
	c := *b
	return &c
}

func (b *lendingBucket) bucket() *lendingBucket { return b }

func (b *lendingBucket) newest() limiter.Instant { return b.at }

func (b *lendingBucket) consumed() int64 { return b.missing }

func (b *lendingBucket) leased(r *limiter.Rule) int64 {
	events, _ := b.held(r, b.at)
	return events
}

// holds returns how many events the parts hold, rounded up.
func (b *lendingBucket) holds(r *limiter.Rule) int64 {
	if !b.open() {
		return 0
	}
	events, numerator := b.held(r, b.at)
	if numerator > 0 {
		events++
	}
	return events
}

// advance accounts for the time up to now slot by slot, as parts end with them.
func (b *lendingBucket) advance(r *limiter.Rule, now limiter.Instant) (moved bool) {
	if b.scarceSince != 0 {
		b.scarceSince = b.notedSince() // as of the newest write
	}
	b.forget()
	defer b.noteScarcity(r)
	b.switchLimit(r)
	at, setBack := follow(b.at, now)
	if setBack {
		b.parts.follow(b.at, at)
		b.at = at
		b.overflow, b.recalledAt = overflow{}, 0
	}
	for b.open() && at >= b.ends {
		b.refill(r, b.ends)
		b.noteScarcity(r) // a part that ends makes room again
		b.rotate()
		b.long.next = b.ample(r)
	}
	b.refill(r, at)
	b.rearm(r)
	return setBack
}

const (
	// A bucket looks back for nearUnits units of nearUnit µs at most. Within a unit, nobody knows
	// whether a take was before or after the bucket was near to being full: so it gets nothing back.
	nearUnit, nearUnits = 1 << 13, 1<<16 - 2
)

// notedSince returns what is noted of scarceSince: nothing earlier.
func (b *lendingBucket) notedSince() int64 {
	unit := int64(b.at) / nearUnit
	return max(unit+1-nearUnits, min(unit+1, b.scarceSince))
}

// noteScarcity notes when the bucket lacks less than a sixteenth of its capacity, besides what its
// parts hold: that is no room for what it refills. If it is full, nothing is known any more.
func (b *lendingBucket) noteScarcity(r *limiter.Rule) {
	switch {
	case b.missing == 0:
		b.scarceSince = 0
	case b.scarceSince != 0 && b.missing-b.holds(r) <= r.Capacity()/16: // a fraction less
		b.scarceSince = int64(b.at)/nearUnit + 1
	}
}

// asideBits is how many bits of a capacity are known of the events that are set aside.
const asideBits = 23

// switchLimit carries the bucket over to the limit of r. The parts keep their share of the refill.
func (b *lendingBucket) switchLimit(r *limiter.Rule) {
	_, per := r.Rate()
	if b.fraction > 0 && b.per != per {
		b.fraction = fractionAt(b.fraction, b.per, per)
	}
	b.per = per
	under := r.Capacity() % (1 << asideBits)
	if b.asideUnder != under {
		b.missing, b.aside, b.charged = min(b.missing+b.aside, maxConsumed), 0, false
	}
	b.asideUnder = under
	if over := b.missing - r.MostMissing(); over <= 0 {
		b.charged = false
	} else if !b.charged {
		b.missing -= over
		b.aside = min(b.aside+over, maxConsumed)
	}
}

// refill accounts for the time up to at, in the current slot. While parts are open, it is rounded
// down to what accrues in whole µs.
func (b *lendingBucket) refill(r *limiter.Rule, at limiter.Instant) {
	from, elapsed := b.at, int64(at-b.at)
	if b.at = at; b.open() {
		elapsed = elapsed * (limiter.Shares - b.shares()) / limiter.Shares
	}
	refill, per := r.Rate()
	events, lacks, ahead := int64(0), b.missing, b.fraction
	if b.missing+b.aside > 0 {
		events, b.fraction = mulAddDiv(elapsed, refill, b.fraction, per)
		lacks, ahead = lacks-min(events, 2*maxConsumed), b.fraction
		if events >= b.missing {
			b.aside = max(0, b.aside+b.missing-events)
			events, b.fraction = b.missing, 0
		}
		b.missing -= events
	}
	b.cut(r)
	b.noteOverflow(r, from, lacks, ahead)
}

// cut makes sure that the level is at most what the parts leave of the capacity.
func (b *lendingBucket) cut(r *limiter.Rule) {
	if !b.open() {
		return
	}
	missing, numerator := b.held(r, b.at)
	fraction := int64(0)
	switch most := 2 * r.Capacity(); { // more than that never counts
	case missing >= most:
		missing = most
	case numerator > 0:
		_, per := r.Rate()
		missing, fraction = missing+1, per-numerator
	}
	if b.missing < missing || b.missing == missing && b.fraction > fraction {
		b.missing, b.fraction = missing, fraction
	}
}

// accrued returns the instant at which n > 0 more events are in the bucket.
func (b *lendingBucket) accrued(r *limiter.Rule, n int64) limiter.Instant {
	c := *b
	goal := c.missing - n
	for c.open() {
		at := c.accruedAt(r, c.missing-goal)
		if held, numerator := c.held(r, at); at <= c.ends && (held < goal || held == goal && numerator == 0) {
			return at
		}
		c.refill(r, c.ends)
		c.rotate()
		if c.missing <= goal {
			return c.at
		}
	}
	return c.accruedAt(r, c.missing-goal)
}

// accruedAt is accrued if no part ends before. It returns the first instant at which
// fraction + µs*refill >= n*per.
func (b *lendingBucket) accruedAt(r *limiter.Rule, n int64) limiter.Instant {
	refill, per := r.Rate()
	us, rest := mulAddDiv(n, per, 0, refill)
	if ahead := b.fraction - rest; ahead >= 0 {
		us -= ahead / refill
	} else {
		us++ // rest < refill, so one microsecond is enough
	}
	if left := limiter.Shares - b.shares(); left < limiter.Shares {
		whole, rest := mulAddDiv(us, limiter.Shares, 0, left)
		if us = whole; rest > 0 {
			us++
		}
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

// charge consumes n events, and sets none of them aside.
func (b *lendingBucket) charge(r *limiter.Rule, n int64) {
	b.missing += n
	b.charged = b.charged || b.missing > r.MostMissing()
}

// lack has the bucket lack n events less a fraction, as far as the parts leave room. Of a bucket
// that nothing was taken from since the limit was lowered, it gets those back first that are set
// aside.
func (b *lendingBucket) lack(r *limiter.Rule, n, fraction int64) {
	if b.missing > r.Capacity() {
		back := min(b.missing-n, b.aside)
		b.aside -= back
		n += back
	}
	if b.missing, b.fraction = n, fraction; n <= 0 {
		b.missing, b.fraction = 0, 0
	}
	b.cut(r)
	b.noteScarcity(r)
}

// cancel gives back no more than the bucket has lacked ever since.
//
// What was seen at the instant of e is what the bucket lacked then, events included, beyond what its
// parts held. If some of that was canceled since, as much may be given back too much, but never more
// than e.N.
func (b *lendingBucket) cancel(r *limiter.Rule, e, seen limiter.Events) {
	lacked := e.N
	if seen.At == e.At {
		lacked = max(lacked, seen.N)
	}
	if b.promised(r) || e.At > b.at { // the clock was set back since: nobody knows how long the bucket has refilled
		return
	}
	refill, per := r.Rate()
	events, fraction := mulAddDiv(int64(b.at-e.At), refill, 0, per) // accrued since, if never full
	if lacked > e.N {
		if fraction > b.fraction {
			events++ // the fraction that there was before has become one
		}
		fraction = b.fraction
	}
	missing, left := b.missing, b.fraction
	switch most := lacked - events; { // less fraction
	case most > e.N, most == e.N && fraction == 0:
		missing -= e.N
	case most <= 0:
	case b.fraction >= fraction:
		missing, left = b.missing-most, b.fraction-fraction
	default:
		missing, left = b.missing-most+1, b.fraction-fraction+per
	}
	// If the bucket has lacked a sixteenth of its capacity ever since, as much can go back.
	whole := b.missing - min(e.N, r.Capacity()/16)
	if b.scarceSince != 0 && int64(e.At) >= b.scarceSince*nearUnit && missing > whole {
		missing, left = whole, b.fraction
	}
	if b.scarceSince == 0 {
		b.scarceSince = int64(b.at)/nearUnit + 1
	}
	b.lack(r, missing, left)
}

// restoreSeen begins without a fraction: replies do not have it.
func (b *lendingBucket) restoreSeen(_ *limiter.Rule, n int64) {
	if n > b.missing {
		b.missing, b.fraction = n, 0
	}
}

func (b *lendingBucket) addQuota(r *limiter.Rule, n int64) {
	b.missing = max(0, b.missing-n)
	if b.missing == 0 {
		b.fraction = 0
	}
	b.cut(r)
	b.noteScarcity(r)
}
