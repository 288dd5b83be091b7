package limiter

import (
	"context"
	"time"
)

// A take that may wait for its turn is promised an instant by a token bucket. It consumes its cost
// at once, so that the bucket lacks more than its capacity: its level is negative. The instant is
// the one at which the level is no longer negative, if nothing else is taken. So the instants of a
// bucket lie in the order of its takes, and as far apart as its rate allows. What a bucket lacks is
// at most its capacity and what accrues in Rule.MaxWait.
//
// A bucket does not count apart what was promised and has not begun: only the negative level tells
// of it. So while the level is negative, nothing but the passing of time may raise it. A refund
// would let more takes begin at an instant than the limit allows. So would the return of a part,
// because the promised instants were worked out with the part. Both are lost then. Only the newest
// promise can be given back, after which the bucket is as it was before.

// maxWait is the longest Rule.MaxWait.
const maxWait = time.Hour

// A Promiser is a [Store] that promises takes their turns: see Take.Wait.
type Promiser interface {
	Store

	// GiveBack gives back the events of a take that was promised a turn and does not use it. It
	// reports false if they are lost, because the bucket has promised more since, or the turn has
	// come.
	GiveBack(ctx context.Context, now Instant, take *Take) (back bool, err error)
}

// promisable returns how many events a bucket can promise, rounded up.
func (r *Rule) promisable() int64 {
	if r.MaxWait == 0 || !r.Algorithm.Kind.Promises() {
		return 0
	}
	return min(mulDivUp(r.MaxWait.Microseconds(), r.refill, r.per), maxConsumed-r.capacity)
}

// WaitFor returns for how many µs a take may wait if wait is configured. For a bucket, it is at
// most the time in which most events accrue, so that no more events wait at a time.
func (r *Rule) WaitFor(wait time.Duration, most int64) int64 {
	us := wait.Microseconds()
	if r.Algorithm.Kind.Refills() {
		us = min(us, r.TimeFor(most))
	}
	return us
}

// MostMissing returns the most that a bucket lacks under r. What it lacks beyond that is set aside.
func (r *Rule) MostMissing() int64 { return r.mostMissing }

// promisableWithin returns how many events a bucket may lack beyond its capacity after a take that
// may wait for us µs. The bucket has accrued fraction/r.per of the next event.
func (r *Rule) promisableWithin(us, fraction int64) int64 {
	events, _ := mulAddDiv(min(us, r.MaxWait.Microseconds()), r.refill, fraction, r.per)
	return min(events, r.promisable())
}

// promised reports whether the bucket has promised events whose turn has not come.
func (b *tokenBucket) promised(r *Rule) bool { return r.MaxWait > 0 && b.missing > r.capacity }

// promises reports whether a take of cost events can have a turn within wait µs. b is as of now.
func (b *tokenBucket) promises(r *Rule, cost, wait int64) bool {
	n := b.missing + cost - r.capacity
	return n <= 0 || wait > 0 && cost <= r.capacity && n <= r.promisableWithin(wait, b.part)
}

// takeWaiting is take for a take that may wait for wait µs.
func (b *tokenBucket) takeWaiting(d *Decision, r *Rule, now Instant, cost, wait int64, consume bool) (write bool) {
	wait = min(wait, r.MaxWait.Microseconds())
	moved := b.advance(r, now)
	ok := b.promises(r, cost, wait)
	turn := b.turn(r, cost)
	if ok && consume {
		b.missing += cost
	}
	if b.decide(d, r, ok, cost); ok {
		d.Turn = turn
	}
	d.RetryWaiting(wait)
	return ok || moved
}

// turn returns the instant at which a take of cost events has its turn, or 0 if that is now.
func (b *tokenBucket) turn(r *Rule, cost int64) Instant {
	if n := b.missing + cost - r.capacity; n > 0 && cost <= r.capacity {
		return b.accrued(r, n)
	}
	return 0
}

// RetryWaiting makes the retry instant of a denial earlier by wait µs: from then on, a take that
// may wait that long is promised a turn.
func (d *Decision) RetryWaiting(wait int64) {
	if !d.OK && d.RetryAt != Never {
		d.RetryAt = max(d.At+1, d.RetryAt-Instant(max(0, wait)))
	}
}

// giveBack gives back a promise of cost events for the instant turn if it is the newest, and
// reports whether it is.
func (b *tokenBucket) giveBack(r *Rule, now, turn Instant, cost int64) bool {
	b.advance(r, now)
	n := b.missing - r.capacity
	if !b.promised(r) || cost > b.missing || turn <= b.at {
		return false
	}
	if events, _ := mulAddDiv(int64(turn-b.at), r.refill, b.part, r.per); events < n {
		return false // other promises come after it
	}
	b.missing -= cost
	return true
}

// TakeWaiting is Take for a take that may wait for wait µs: see Take.Wait.
func (s State) TakeWaiting(r *Rule, now Instant, cost, wait int64) Decision {
	return s.takeWaiting(r, now, cost, wait, true)
}

// PeekWaiting returns what TakeWaiting would, and consumes nothing.
func (s State) PeekWaiting(r *Rule, now Instant, cost, wait int64) Decision {
	return s.takeWaiting(r, now, cost, wait, false)
}

func (s State) takeWaiting(r *Rule, now Instant, cost, wait int64, consume bool) (d Decision) {
	if wait <= 0 || !r.Algorithm.Kind.Promises() {
		return s.take(r, now, cost, consume)
	}
	b := bucketIn(r, s)
	if b.takeWaiting(&d, r, now, cost, wait, consume) && consume {
		b.save(r, s)
	}
	return d
}

// GiveBack gives back the cost events that a take was promised for the instant turn. It reports
// false if they are lost: see [Promiser].
func (s State) GiveBack(r *Rule, now, turn Instant, cost int64) bool {
	if !r.Algorithm.Kind.Promises() {
		return false
	}
	b := bucketIn(r, s)
	back := b.giveBack(r, now, turn, cost)
	if back {
		b.save(r, s)
	}
	return back
}

// mostHeld returns how many events nodes can hold when the parts end, rounded up.
func (p *Parts) mostHeld(r *Rule) int64 {
	us := p.Current.Accrues + p.Previous.Accrues
	events, fraction := mulAddDiv((us+Shares-1)/Shares, r.refill, 0, r.per)
	if fraction > 0 {
		events++
	}
	return p.Current.Events + p.Previous.Events + events
}

// turn returns the instant at which a take of cost events has its turn. It returns 0 if that is
// now. It returns Never if the bucket must not promise a turn, because there is no room for the
// cost beside what nodes can hold. So when a turn comes, the bucket and its parts together hold no
// more than the capacity.
func (b *remoteBucket) turn(r *Rule, cost int64) Instant {
	switch n := b.missing + cost - r.capacity; {
	case n <= 0:
		return 0
	case cost > r.capacity, cost > 0 && b.open() && b.mostHeld(r)+cost > r.capacity:
		return Never
	default:
		return b.accrued(r, n)
	}
}

// PeekWaiting returns the answer to a take of cost events that may wait for wait µs.
func (s RemoteCount) PeekWaiting(r *Rule, cost, wait int64) Decision {
	b, bucket := s.count.(*remoteBucket)
	wait = min(wait, r.MaxWait.Microseconds())
	if !bucket || wait <= 0 {
		return s.Peek(r, cost)
	}
	var d Decision
	turn := b.turn(r, cost)
	ok := turn <= b.at+Instant(wait) && b.missing+cost <= maxConsumed
	if b.decide(&d, r, ok, cost); ok {
		d.Turn = turn
	} else if turn != Never {
		d.RetryAt = turn
		d.RetryWaiting(wait)
		d.capRetry(b.leasedUntil())
	}
	return d
}

// Turn returns the turn of the newest take, whose cost s includes. It returns 0 if that is now.
func (s RemoteCount) Turn(r *Rule) (turn Instant) {
	if b, bucket := s.count.(*remoteBucket); bucket && b.promised(r) {
		return b.turn(r, 0)
	}
	return 0
}

// TakeBack takes back the cost events that the newest take was promised.
func (s RemoteCount) TakeBack(cost int64) {
	if b, bucket := s.count.(*remoteBucket); bucket {
		b.missing -= cost
	}
}
