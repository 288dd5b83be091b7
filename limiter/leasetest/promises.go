package leasetest

import "github.com/fleetlimit/fleetlimit/limiter"

// A promising count promises takes that wait their turns: a bucket.
type promising interface {
	// turn returns the first instant at which a take of cost events has its turn, 0 if that is now. It
	// reports false if the count must not promise one.
	turn(r *limiter.Rule, cost int64) (limiter.Instant, bool)

	// accruesBy returns what accrues until the instant at, if no part is granted or returned.
	accruesBy(r *limiter.Rule, at limiter.Instant) int64
}

// TakeWaiting decides a take of cost events that may wait for wait µs. now is by the store's clock.
func (g *Ledger) TakeWaiting(r *limiter.Rule, now limiter.Instant, cost, wait int64) (d limiter.Decision) {
	c := g.count.clone()
	moved := c.advance(r, now)
	g.followClock(now)
	fits := cost <= r.Capacity()-c.consumed()
	p, promises := c.(promising)
	turn, can := limiter.Instant(0), false
	if promises && !fits {
		wait = min(wait, r.MaxWait.Microseconds())
		turn, can = p.turn(r, cost)
		can = can && wait > 0
	}
	ok := fits || can && turn <= c.newest()+limiter.Instant(wait)
	if ok {
		c.consume(r, cost)
	}
	if ok || moved && g.created != 0 {
		if g.count = c; g.created == 0 {
			g.created = c.newest()
		}
	}
	if c.decide(&d, r, ok, cost); ok {
		d.Turn = turn
	} else if can {
		d.RetryAt = max(d.At+1, turn-limiter.Instant(wait))
		capRetry(&d, c.leasedUntil())
	}
	return d
}

// GiveBack gives back what a take of cost events was promised for the instant turn, and reports false
// if that is lost.
func (g *Ledger) GiveBack(r *limiter.Rule, now, turn limiter.Instant, cost int64) bool {
	c := g.count.clone()
	c.advance(r, now)
	p, promises := c.(promising)
	ahead := c.consumed() - r.Capacity()
	if !promises || r.MaxWait == 0 || ahead <= 0 || turn <= c.newest() || p.accruesBy(r, turn) < ahead {
		return false
	}
	c.consume(r, -cost)
	g.count = c
	return true
}

// promised reports whether the bucket has promised events whose turn has not come. Meanwhile it
// grants nothing and takes nothing back: it has promised by what it refills until then.
func (b *lendingBucket) promised(r *limiter.Rule) bool {
	return r.MaxWait > 0 && b.missing > r.Capacity()
}

func (b *lendingBucket) turn(r *limiter.Rule, cost int64) (limiter.Instant, bool) {
	n := b.missing + cost - r.Capacity()
	switch {
	case n <= 0:
		return 0, true
	case cost > r.Capacity(), b.open() && b.most(r)+cost > r.Capacity():
		return 0, false // what the bucket and its parts hold would exceed the capacity
	}
	return b.accrued(r, n), true
}

func (b *lendingBucket) accruesBy(r *limiter.Rule, at limiter.Instant) int64 {
	c := *b
	for c.open() && at >= c.ends {
		c.refill(r, c.ends)
		c.rotate()
	}
	c.refill(r, at)
	return b.missing - c.missing
}
