package limiter

// A lendingBucket is a token bucket whose events are lent. An event that is lent has left the bucket, and may be spent much later,
// when the bucket has refilled in its place. So the bucket stops refilling while what is in it and what is out exceed its
// capacity by what accrues in a slot: in any span, no more is spent than the capacity, what accrues in the span, and that.
type lendingBucket struct {
	tokenBucket
	leaseSlots
}

func (b *lendingBucket) clone() lendingCount {
	c := *b
	return &c
}

func (b *lendingBucket) newest() Instant { return b.at }

// advance accounts for the time up to now, slot by slot, as each has events of its own out.
func (b *lendingBucket) advance(r *Rule, now Instant) (moved bool) {
	b.divide(r)
	at, setBack := b.at.follow(now)
	if setBack && b.out() > 0 {
		b.ends = at + Instant(b.length)
	}
	for b.out() > 0 && at >= b.ends {
		b.refill(r, b.ends)
		b.rotate()
	}
	b.refill(r, now)
	return setBack
}

// refill accounts for the time up to now, in the current slot.
func (b *lendingBucket) refill(r *Rule, now Instant) {
	least, aside := min(b.missing, b.held(r)), b.aside
	if b.tokenBucket.advance(r, now); b.out() > 0 {
		b.aside = aside
	}
	if b.missing <= least { // nor does it keep a fraction, so that it does not matter how often it is asked
		b.missing, b.part = least, 0
	}
}

// held returns how many events the bucket goes on lacking in the current slot.
func (b *lendingBucket) held(r *Rule) int64 {
	if b.out() == 0 {
		return 0
	}
	return max(0, b.out()-mulDiv(b.length, r.refill, r.per))
}

// accrued returns the instant at which n > 0 more events are in the bucket.
func (b *lendingBucket) accrued(r *Rule, n int64) Instant {
	c := *b
	goal := c.missing - n
	for c.out() > 0 {
		if at := c.tokenBucket.accrued(r, c.missing-goal); goal >= c.held(r) && at <= c.ends {
			return at
		}
		c.refill(r, c.ends)
		c.rotate()
	}
	return c.tokenBucket.accrued(r, c.missing-goal)
}

func (b *lendingBucket) decide(d *Decision, r *Rule, ok bool, cost int64) {
	if d.answer(r, b.at, b.missing, ok, cost) {
		d.RetryAt = b.accrued(r, cost-(r.capacity-b.missing))
		d.capRetry(b.leasedUntil())
	}
	if b.missing > 0 {
		d.ResetAt = b.accrued(r, b.missing)
	}
}

func (b *lendingBucket) consumed() int64 { return b.missing }

func (b *lendingBucket) consume(_ *Rule, n int64) { b.missing += n }

func (b *lendingBucket) lend(r *Rule, n int64) {
	b.begin(b.at, r.slot)
	b.missing += n
	b.open += n
}

func (b *lendingBucket) giveBack(_ *Rule, e Events) {
	if b.missing -= b.back(e.N, e.At); b.missing <= 0 {
		b.missing, b.part = 0, 0
	}
}

// undo gives back no more than the bucket has lacked ever since. What was seen at the instant of e says what it lacked then; when
// others have given back some of that, as much may be given back too much.
func (b *lendingBucket) undo(r *Rule, e, seen Events) {
	lacked := e.N
	if seen.At == e.At {
		lacked = max(lacked, seen.N)
	}
	least := min(b.missing, b.held(r))
	if b.tokenBucket.undo(r, e, lacked); b.missing <= least {
		b.missing, b.part = least, 0
	}
}

// restoreSeen does not know what had accrued towards the next event, and so begins with nothing.
func (b *lendingBucket) restoreSeen(_ *Rule, n int64) {
	if n > b.missing {
		b.missing, b.part = n, 0
	}
}
