// Package leasetest holds the executable specification of a store that lends, and a simulation of
// fleets that borrow from it.
//
// A [Ledger] does with one key what the scripts of package lua do in Redis. Its arithmetic is
// written for readers and shares nothing with that of package limiter, so the two can be compared.
//
// The simulation is in the tests of this package. It runs many nodes, each with the [lease.Store]
// that ships, on one store of ledgers that delays, loses and forgets, and checks the bounds of
// DESIGN section 3.
//
// [lease.Store]: https://pkg.go.dev/github.com/fleetlimit/fleetlimit/limiter/lease#Store
package leasetest

import (
	"github.com/fleetlimit/fleetlimit/limiter"
)

// A Ledger is what a lending store keeps of one key under one rule. It is not safe for concurrent
// use.
//
// It changes only when something is written: a denial leaves it as it was.
type Ledger struct {
	count   lendingCount    // as of the newest write
	created limiter.Instant // when something was written first; 0 when nothing was

	// restarted is the instant from which on events belong to the counts of the key since the last
	// reset of one, or 0 if none was reset.
	restarted limiter.Instant

	// The call that is being answered.
	work  lendingCount // the count, as of the call
	wrote bool         // work is to replace count
}

// A lendingCount is what is consumed of a limit, leases included. Methods without an instant act at
// the one that advance was called with last.
type lendingCount interface {
	clone() lendingCount

	// newest returns the instant of the newest write, if advance was not called since.
	newest() limiter.Instant

	// advance moves the count to now. moved reports that the clock was set back or the windows are
	// others, which has to be written.
	advance(r *limiter.Rule, now limiter.Instant) (moved bool)

	consumed() int64
	decide(d *limiter.Decision, r *limiter.Rule, ok bool, cost int64)

	// consume adds n events that are spent now, whether or not they fit.
	consume(r *limiter.Rule, n int64)

	// lend grants a part of what is left for l.Want, which may be spent until l.Expires.
	lend(l *limiter.LeaseRequest)

	// leasedUntil returns when the last lease expires, or an instant that has passed if none is out.
	leasedUntil() limiter.Instant

	// takeBack subtracts leased events that were not spent, cancel events that were served in vain.
	// seen is what was consumed right after the served events: see Lacked of a lease request.
	takeBack(r *limiter.Rule, lease limiter.Return, spends limiter.Spends)
	cancel(r *limiter.Rule, served, seen limiter.Events)

	// restoreSeen makes sure that at least n events are consumed.
	restoreSeen(r *limiter.Rule, n int64)

	// addQuota gives back up to n events, the newest first.
	addQuota(r *limiter.Rule, n int64)
}

const (
	// maxConsumed is the most that is ever consumed of a limit.
	maxConsumed = 1<<40 - 1

	// maxLease is how long a lease lasts at most, in µs.
	maxLease = 10_000_000
)

// NewLedger returns a ledger without consumption for the algorithm a.
func NewLedger(a limiter.Algorithm) *Ledger {
	return &Ledger{count: newLendingCount(a)}
}

func newLendingCount(a limiter.Algorithm) lendingCount {
	switch a.Kind {
	case limiter.TokenBucket:
		return new(lendingBucket)
	case limiter.SlidingWindowLog:
		return new(lendingLog)
	case limiter.SlidingWindow:
		return &lendingSliding{counts: make([]int64, max(1, a.SubWindows)+1)}
	}
	return new(lendingFixed)
}

// Clone returns a copy of g that shares nothing with it.
func (g *Ledger) Clone() *Ledger {
	return &Ledger{count: g.count.clone(), created: g.created, restarted: g.restarted}
}

// Newest returns the instant of the newest write; 0 when there was none.
func (g *Ledger) Newest() limiter.Instant { return g.count.newest() }

// Consumed returns how many events are consumed, as of the newest write.
func (g *Ledger) Consumed() int64 { return g.count.consumed() }

// Lend answers the requests of a node for one key, one for each ledger, as one: all needs are
// served, or none. now is by the store's clock. incarnation is the store's, 0 when it is unknown.
func Lend(incarnation uint64, now limiter.Instant, ledgers []*Ledger, requests []limiter.LeaseRequest) {
	allowed := true
	for i := range requests {
		allowed = ledgers[i].apply(incarnation, now, &requests[i]) && allowed
	}
	for i := range requests {
		requests[i].Incarnation = incarnation
		ledgers[i].answer(&requests[i], allowed)
	}
}

// apply restores, takes back and debits what the request says, and reports whether its need fits.
func (g *Ledger) apply(incarnation uint64, now limiter.Instant, l *limiter.LeaseRequest) bool {
	r, c := l.Rule, g.count.clone()
	g.work, g.wrote = c, l.ChangesCount()
	known := incarnation != 0 && l.Incarnation != 0
	if known && l.Incarnation != incarnation {
		g.restore(r, l.Seen)
	}
	if c.advance(r, now) {
		g.wrote = true
	}
	g.followClock(now)
	if known && l.Incarnation == incarnation { // events from before the count was created stay lost
		for i, e := range l.Returns {
			if e.At >= max(g.created, g.restarted) {
				c.takeBack(r, e, spendsOf(l, i))
			}
		}
		if l.Cancel.N > 0 && g.counts(r, l.Cancel.At) {
			c.cancel(r, l.Cancel, limiter.Events{At: l.Cancel.At, N: l.Lacked})
		}
	}
	return l.Need == 0 || l.Need <= r.Capacity()-c.consumed()
}

// counts reports whether events that were served at the instant at belong to the count.
func (g *Ledger) counts(r *limiter.Rule, at limiter.Instant) bool {
	isLog := r.Algorithm.Kind == limiter.SlidingWindowLog // which finds events by their instant
	return at >= g.restarted && (isLog || at >= g.created)
}

// followClock follows a clock that was set back.
func (g *Ledger) followClock(now limiter.Instant) {
	if g.created > now+limiter.LateReading {
		g.created = now
	}
	if g.restarted > now+limiter.LateReading {
		g.restarted = 0
	}
}

// restore consumes what a node has seen and this incarnation of the store has lost.
//
// A failover loses the newest writes. If the newest write left is not older than what was seen,
// nothing that was seen is lost. Otherwise nothing was written since, and what is missing is the
// difference to the consumption that was seen.
func (g *Ledger) restore(r *limiter.Rule, seen limiter.Events) {
	if seen.N <= 0 || g.work.newest() >= seen.At {
		return
	}
	g.work.advance(r, seen.At)
	g.work.restoreSeen(r, seen.N)
	g.wrote = true
}

// answer decides the request, once all of the same call were applied. Nothing is served or granted
// if a need is denied, but a bucket that denies its own grants a share of its refill.
func (g *Ledger) answer(l *limiter.LeaseRequest, allowed bool) {
	r, c := l.Rule, g.work
	l.Served, l.Granted, l.GrantedShare, l.Expires = 0, 0, 0, 0
	left := r.Capacity() - c.consumed()
	if allowed {
		if l.Served = l.Need + max(0, min(l.More, limiter.MaxMore, left-l.Need)); l.Served > 0 {
			c.consume(r, l.Served)
		}
	}
	bucket := bucketOf(c)
	if left -= l.Served; bucket != nil && r.Leases() {
		denies := l.Need > 0 && l.Served < l.Need+l.More && left < l.Need
		g.wrote = bucket.recall(r, denies) || g.wrote
	}
	if r.Leases() && (allowed || l.Need > left) {
		c.lend(l)
	}
	if g.wrote && (g.created != 0 || c.consumed() > 0) || l.Served+l.Granted+l.GrantedShare > 0 {
		g.count = c
		if g.created == 0 {
			g.created = c.newest()
		}
	}
	g.work = nil
	cost := max(1, l.Need)
	fits := cost <= r.Capacity()-c.consumed()
	c.decide(&l.Decision, r, fits || l.Need > 0 && l.Served > 0, cost)
	if l.Unserved = (limiter.Decision{}); l.Need > 0 && l.Served > 0 && l.Served < l.Need+l.More {
		c.decide(&l.Unserved, r, fits, cost)
	}
	l.Held, l.Ample, l.RecalledAt = 0, false, 0
	if bucket != nil {
		l.Held, l.Ample, l.RecalledAt = bucket.holds(r), bucket.ample(r), bucket.recalledAt
	}
}

// bucketOf returns the bucket that c is, or nil.
func bucketOf(c lendingCount) *lendingBucket {
	if b, ok := c.(interface{ bucket() *lendingBucket }); ok {
		return b.bucket()
	}
	return nil
}

// spendsOf returns when the events of the lease i of l.Returns were spent.
func spendsOf(l *limiter.LeaseRequest, i int) limiter.Spends {
	if i == 1 {
		return l.Spends
	}
	return limiter.Spends{}
}

// lendable returns how many events are granted for l.Want when left are left.
func lendable(l *limiter.LeaseRequest, left int64) int64 {
	if l.Need > 0 && l.Served == 0 {
		return 0
	}
	return max(0, min(l.Want, left/l.Divisor()))
}
