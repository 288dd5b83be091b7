package limiter

// A tokenBucket counts what is missing from a bucket of Burst events that refills at Events per Window.
//
// The refill is exact: whole events and the fraction of the next one are kept apart, the fraction as a numerator over
// rule.per, so no rounding adds up however often a key is asked about.
type tokenBucket struct {
	at      Instant // up to which the refill is accounted for
	missing int64   // whole events that the bucket lacks
	part    int64   // accrued towards the next event, in 1/per events. Invariant: 0 <= part < per, and 0 if missing is
	per     int64   // the denominator of part
}

// refill accounts for the time up to now.
func (b *tokenBucket) refill(r *Rule, now Instant) {
	if b.per != r.per { // another limit: keep the fraction of an event, in its new unit
		if b.per > 0 {
			b.part = mulDiv(b.part, r.per, b.per)
		}
		b.per = r.per
	}
	switch {
	case b.missing == 0:
		b.at, b.part = max(now, b.at), 0
		if now < b.at-LateReading {
			b.at = now
		}
	case now >= b.at:
		events, part := mulAddDiv(int64(now-b.at), r.refill, b.part, r.per)
		b.at, b.part = now, part
		if b.missing -= events; b.missing <= 0 {
			b.missing, b.part = 0, 0
		}
	case now < b.at-LateReading:
		b.at = now
	}
}

// decide answers a take of cost events that is, or is not, allowed; the bucket is as it is after the answer.
func (b *tokenBucket) decide(r *Rule, ok bool, cost int64) Decision {
	d := Decision{OK: ok, Limit: r.capacity, Remaining: max(0, r.capacity-b.missing)}
	d.RetryAt = b.at
	if !ok {
		d.RetryAt = b.lacks(r, cost-(r.capacity-b.missing))
		if cost > r.capacity {
			d.RetryAt = Never
		}
	}
	d.ResetAt = b.lacks(r, b.missing)
	return d
}

// lacks returns the instant at which n more events have accrued.
func (b *tokenBucket) lacks(r *Rule, n int64) Instant {
	if n <= 0 {
		return b.at
	}
	// The smallest t with part + t*refill >= n*per.
	us, rem := mulAddDiv(n, r.per, 0, r.refill)
	if us >= int64(Never-b.at) {
		return Never
	}
	// us*refill + rem = n*per, so what is short of it at us is rem, less the part.
	short := rem - b.part
	if short > 0 {
		us += (short + r.refill - 1) / r.refill
	} else {
		us -= -short / r.refill
	}
	return b.at + Instant(us)
}

func (b *tokenBucket) Take(r *Rule, now Instant, cost int64) Decision {
	b.refill(r, now)
	ok := cost <= r.capacity-b.missing
	if ok {
		b.missing += cost
	}
	return b.decide(r, ok, cost)
}

func (b *tokenBucket) Peek(r *Rule, now Instant, cost int64) Decision {
	b.refill(r, now)
	return b.decide(r, cost <= r.capacity-b.missing, cost)
}

func (b *tokenBucket) Refund(r *Rule, now, _ Instant, cost int64) {
	b.refill(r, now)
	if b.missing -= cost; b.missing <= 0 {
		b.missing, b.part = 0, 0
	}
}
