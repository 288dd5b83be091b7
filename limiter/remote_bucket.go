package limiter

// Parts are the open parts of a bucket, summed by slots of time: a part that is granted in a slot
// ends at the end of the next slot. The zero value has no parts.
type Parts struct {
	Ends              Instant // end of the current slot
	Next              int64   // length of the next slot, in µs
	Current, Previous SlotParts
}

// SlotParts are the sums over the parts that were granted in a slot and are open.
type SlotParts struct {
	Shares  int64 // sum of the shares of the refill, in 1/Shares
	Accrues int64 // sum of share * (end of the part - instant of its grant), in µs
	Events  int64 // events granted at once, less those returned
}

func (p *Parts) open() bool { return p.Current != SlotParts{} || p.Previous != SlotParts{} }

func (p *Parts) shares() int64 { return p.Current.Shares + p.Previous.Shares }

func (p *Parts) lentUntil() Instant { return p.Ends + Instant(p.Next) }

// leasedUntil returns when the last part ends. It returns 0 if no part is open.
func (p *Parts) leasedUntil() Instant {
	switch {
	case p.Current != SlotParts{}:
		return p.lentUntil()
	case p.Previous != SlotParts{}:
		return p.Ends
	}
	return 0
}

// held returns the most that nodes can hold unspent at the instant at: events + fraction/r.per. The
// instant is in the current slot.
func (p *Parts) held(r *Rule, at Instant) (events, fraction int64) {
	us := p.Current.Accrues - p.Current.Shares*int64(p.lentUntil()-at) +
		p.Previous.Accrues - p.Previous.Shares*int64(p.Ends-at)
	events, fraction = mulAddDiv((us+Shares-1)/Shares, r.refill, 0, r.per)
	return p.Current.Events + p.Previous.Events + events, fraction
}

// rotate makes the next slot the current one. The parts of the previous one have ended.
func (p *Parts) rotate() {
	p.Ends, p.Next, p.Current, p.Previous = p.lentUntil(), 0, SlotParts{}, p.Current
}

// A remoteBucket is a token bucket that lends parts of itself: see limiter/leasetest for the whole
// rule.
type remoteBucket struct {
	tokenBucket
	Parts
}

func (b *remoteBucket) consumed() int64 { return b.missing }

func (b *remoteBucket) leases(r *Rule) (events int64, until Instant) {
	if b.open() {
		events, _ = b.held(r, b.at)
	}
	return events, b.leasedUntil()
}

// holds returns how many events the parts hold, rounded up.
func (b *remoteBucket) holds(r *Rule) int64 {
	if !b.open() {
		return 0
	}
	events, fraction := b.held(r, b.at)
	if fraction > 0 {
		events++
	}
	return events
}

func (b *remoteBucket) lentUntil() Instant { return b.Parts.lentUntil() }

func (b *remoteBucket) decide(d *Decision, r *Rule, ok bool, cost int64) {
	if d.answer(r, b.at, b.missing, ok, cost) {
		d.RetryAt = b.accrued(r, cost-(r.capacity-b.missing))
		d.capRetry(b.leasedUntil())
	}
	if b.missing > 0 {
		d.ResetAt = b.accrued(r, b.missing)
	}
}

// refill accounts for the time up to at, in the current slot.
func (b *remoteBucket) refill(r *Rule, at Instant) {
	b.at += Instant((int64(at-b.at)*b.shares() + Shares - 1) / Shares) // what the parts accrue, the bucket does not
	b.advance(r, at)
	b.cut(r)
}

// cut makes sure that the level is at most what the parts leave of the capacity.
func (b *remoteBucket) cut(r *Rule) {
	if !b.open() {
		return
	}
	least, ahead := b.held(r, b.at)
	fraction := int64(0)
	switch most := 2 * r.capacity; { // more than that never counts
	case least >= most:
		least = most
	case ahead > 0:
		least, fraction = least+1, r.per-ahead
	}
	if b.missing < least || b.missing == least && b.part > fraction {
		b.missing, b.part = least, fraction
	}
}

// accrued returns the instant at which n > 0 more events are in the bucket.
func (b *remoteBucket) accrued(r *Rule, n int64) Instant {
	c := *b
	goal := c.missing - n
	for c.open() {
		at := c.accruedInSlot(r, c.missing-goal)
		if held, fraction := c.held(r, at); at <= c.Ends && (held < goal || held == goal && fraction == 0) {
			return at
		}
		c.refill(r, c.Ends)
		if c.rotate(); c.missing <= goal {
			return c.at
		}
	}
	return c.tokenBucket.accrued(r, c.missing-goal)
}

// accruedInSlot is accrued while the open parts have their shares of the refill.
func (b *remoteBucket) accruedInSlot(r *Rule, n int64) Instant {
	at := b.tokenBucket.accrued(r, n)
	if at == Never {
		return at
	}
	return b.at.plus(mulDivUp(int64(at-b.at), Shares, Shares-b.shares()))
}

// cancel gives back events that were served, as far as the parts leave room.
func (b *remoteBucket) cancel(r *Rule, e Events) {
	if !b.promised(r) {
		b.undo(r, e, e.N)
		b.cut(r)
	}
}
