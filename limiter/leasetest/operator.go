package leasetest

import "github.com/fleetlimit/fleetlimit/limiter"

// Peek returns the decision on a take of one event at now. It writes nothing.
func (g *Ledger) Peek(r *limiter.Rule, now limiter.Instant) limiter.Decision {
	d, _ := g.peek(r, now)
	return d
}

func (g *Ledger) peek(r *limiter.Rule, now limiter.Instant) (d limiter.Decision, c lendingCount) {
	c = g.count.clone()
	c.advance(r, now)
	c.decide(&d, r, c.consumed() < r.Capacity(), 1)
	return d, c
}

// Inspect returns the state of the count at now.
func (g *Ledger) Inspect(r *limiter.Rule, now limiter.Instant) limiter.CountState {
	d, c := g.peek(r, now)
	state := limiter.CountState{
		At: d.At, Limit: d.Limit, Remaining: d.Remaining, Consumed: c.consumed(), RetryAt: d.RetryAt, ResetAt: d.ResetAt,
	}
	if until := c.leasedUntil(); until > d.At {
		state.LeasedUntil = until
		if c, ok := c.(interface{ leased(*limiter.Rule) int64 }); ok {
			state.Leased = c.leased(r)
		}
	}
	return state
}

// Reset gives the key its full limit again under the rule of g. Events of before are not taken back
// any more by any ledger of the key.
func (g *Ledger) Reset(r *limiter.Rule, now limiter.Instant, ofKey ...*Ledger) {
	g.followClock(now)
	at, _ := follow(g.count.newest(), now)
	before := g.count
	g.count = newLendingCount(r.Algorithm)
	if b, ok := before.(*lendingBucket); ok { // nodes go on spending their parts
		b.advance(r, now)
		g.count = &lendingBucket{parts: b.parts, at: at}
	}
	g.count.advance(r, at)
	g.created = max(g.created, min(at+1, now+limiter.LateReading))
	for _, other := range append(ofKey, g) {
		other.followClock(now)
		other.restarted = max(other.restarted, g.created)
	}
}

// Refund gives back served events, which a take has consumed without a lease: see Cancel and Lacked
// of a lease request. Those of before a reset belong to another count, and nothing is written.
func (g *Ledger) Refund(r *limiter.Rule, now limiter.Instant, served, seen limiter.Events) {
	g.followClock(now)
	if !g.counts(r, served.At) {
		return
	}
	c := g.count.clone()
	c.advance(r, now)
	c.cancel(r, served, seen)
	g.count = c
}

// Charge consumes n events at now, whatever the limit allows.
func (g *Ledger) Charge(r *limiter.Rule, now limiter.Instant, n int64) {
	g.followClock(now)
	c := g.count.clone()
	c.advance(r, now)
	n = max(0, min(n, maxConsumed-c.consumed()))
	if b, ok := c.(*lendingBucket); ok {
		b.charge(r, n)
	} else {
		c.consume(r, n)
	}
	if g.count = c; g.created == 0 {
		g.created = c.newest()
	}
}

// AddQuota gives back up to n of the events that are consumed at now.
func (g *Ledger) AddQuota(r *limiter.Rule, now limiter.Instant, n int64) {
	g.followClock(now)
	c := g.count.clone()
	c.advance(r, now)
	if c.consumed() > 0 {
		c.addQuota(r, n)
		g.count = c
	}
}
