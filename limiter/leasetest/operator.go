package leasetest

import "github.com/fleetlimit/fleetlimit/limiter"

// Inspect returns the state of the count at now.
func (g *Ledger) Inspect(r *limiter.Rule, now limiter.Instant) limiter.CountState {
	c := g.count.clone()
	c.advance(r, now)
	var d limiter.Decision
	c.decide(&d, r, c.consumed() < r.Capacity(), 1)
	state := limiter.CountState{
		At: d.At, Limit: d.Limit, Remaining: d.Remaining, Consumed: c.consumed(), RetryAt: d.RetryAt, ResetAt: d.ResetAt,
	}
	if until := c.leasedUntil(); until > d.At {
		state.LeasedUntil = until
		if slots, ok := c.(interface{ out() int64 }); ok {
			state.Leased = slots.out()
		}
	}
	return state
}

// Reset gives the key its full limit again under the rule of g. Events of before are not taken back
// any more by any ledger of the key.
func (g *Ledger) Reset(r *limiter.Rule, now limiter.Instant, ofKey ...*Ledger) {
	g.followClock(now)
	at, _ := follow(g.count.newest(), now)
	g.count = newLendingCount(r.Algorithm)
	g.count.advance(r, at)
	g.created = max(g.created, min(at+1, now+limiter.LateReading))
	for _, other := range append(ofKey, g) {
		other.followClock(now)
		other.restarted = max(other.restarted, g.created)
	}
}

// AddQuota gives back up to n of the events that are consumed at now.
func (g *Ledger) AddQuota(r *limiter.Rule, now limiter.Instant, n int64) {
	g.followClock(now)
	c := g.count.clone()
	c.advance(r, now)
	if c.consumed() > 0 {
		c.addQuota(n)
		g.count = c
	}
}
