package lease

import (
	"context"
	"math"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/limiter/internal/keyed"
)

// Inspect implements [limiter.Operator]. The count is the lender's. If the lender fails, Inspect
// returns the account of this node all the same.
func (s *Store) Inspect(ctx context.Context, now limiter.Instant, r *limiter.Rule, key []byte) (limiter.Inspection, error) {
	i, err := s.lender.Inspect(ctx, now, r, key)
	s.withAccount(r, key, func(a account) { i.Account = a.state(r, s.now()) })
	return i, err
}

// Reset implements [limiter.Operator]. It also drops the account of this node, as the other nodes
// should by [Store.Drop].
func (s *Store) Reset(ctx context.Context, now limiter.Instant, r *limiter.Rule, key []byte) error {
	if err := s.lender.Reset(ctx, now, r, key); err != nil {
		s.DropDenial(r, key) // the lender may have done it
		return err
	}
	s.Drop(r, key)
	return nil
}

// AddQuota implements [limiter.Operator]. It also drops the denial that this node remembers, as the
// other nodes should by [Store.DropDenial].
func (s *Store) AddQuota(
	ctx context.Context, now limiter.Instant, r *limiter.Rule, key []byte, events int64,
) (limiter.CountState, error) {
	c, err := s.lender.AddQuota(ctx, now, r, key, events)
	s.DropDenial(r, key)
	return c, err
}

// Drop drops what this node knows and holds for key under r, as the lender has reset the count. The
// leases go back, the remembered denial and the debt are dropped, and the next take asks the
// lender. Nothing of that comes back with the reply to a request that is under way.
func (s *Store) Drop(r *limiter.Rule, key []byte) { s.dropPart(r, key, allButDebt) }

// DropDenial drops the denial of key that this node remembers under r, as the lender has given back
// events, so that the next take asks the lender. The reply to a request that is under way is not
// remembered. Leases and debt stay.
func (s *Store) DropDenial(r *limiter.Rule, key []byte) { s.dropPart(r, key, denialOnly) }

// dropPart drops a part of the account of key under r, if there is one.
func (s *Store) dropPart(r *limiter.Rule, key []byte, what dropped) {
	var c *call
	if l, ok := s.locate(r, key); ok {
		l.withAccount(func(a account) { c = s.dropLocked(&l, a, what, s.now()) })
	}
	s.send(c)
}

// dropLocked drops a part of a, and returns the call that returns its leases, if that is needed
// now.
func (s *Store) dropLocked(l *location, a account, what dropped, now instant) *call {
	r := l.zone.rules.ruleFor(l.key.ID, a)
	q := l.queueLocked()
	a.drop(r, what)
	if q != nil {
		q.drop(what)
	}
	if what != allButDebt {
		return nil
	}
	a.local, a.localAt = 0, 0 // full, but not once more with the reply to a request under way
	debt := a.reduceDebt(math.MaxInt64)
	s.stats.debtDropped.Add(uint64(debt))
	if q != nil && q.underWay[everything].call != nil {
		q.underWay[everything].droppedDebt += debt
	}
	l.zone.dropPassed(a, r, now)
	if a.hasNews(r, now) {
		return s.beginSoonLocked(l, a, r, now)
	}
	return nil
}

// droppedLocked returns what an operator has had dropped since the request of t was sent, and how
// much is still owed of the debt that the request told of.
func (t *target) droppedLocked() (what dropped, owed int64) {
	u := &t.queue.underWay[t.content]
	return u.dropped, max(0, t.told-u.droppedDebt)
}

// drop notes for the requests under way that what is dropped of the account.
func (q *queue) drop(what dropped) {
	for i := range q.underWay {
		q.underWay[i].dropped = max(q.underWay[i].dropped, what)
	}
}

// DropDenials drops all denials that this node remembers in a zone, as it may not have been told of
// what operators have done. See [Store.DropDenial].
func (s *Store) DropDenials(zone limiter.Counts) {
	z, _ := zone.(*Accounts)
	if z == nil || z.store != s {
		return
	}
	shards := z.accounts.Shards()
	for i := range shards {
		sh := &shards[i]
		for at, more := new(keyed.Cursor), true; more; {
			more = z.dropDenials(sh, at)
		}
	}
}

// dropDenials does so for some of the accounts of a shard, from at on, and reports whether there
// are more.
func (z *Accounts) dropDenials(sh *shard, at *keyed.Cursor) (more bool) {
	sh.Lock()
	defer sh.Unlock()
	for _, q := range sh.State.queues {
		q.drop(denialOnly)
	}
	return sh.Entries.Walk(at, drainSlots, func(e *entry) {
		a := accountOf(sh, e)
		if a.denied {
			a.drop(z.rules.ruleFor(e.ID(), a), denialOnly)
		}
	})
}

// dropped says what of an account was dropped because an operator has changed the count.
type dropped uint8

const (
	nothing    dropped = iota
	denialOnly         // events were given back, or may have been
	allButDebt         // the count was reset. Debt is dropped by itself, see dropLocked
)

// drop drops a part of a, so that the next take asks the store.
func (a account) drop(r *limiter.Rule, what dropped) {
	if what == nothing {
		return
	}
	a.clearDenial()
	a.shown = r.Capacity() // what remains by the store may be more than what clients were told
	if what == allButDebt {
		kindOf(r).outlive(a.hot, true)
		a.used, a.seenAt, a.inOutage = 0, 0, false
		a.breachAt = 0
	}
}

// state returns what a knows and holds at now, and changes nothing.
func (a account) state(r *limiter.Rule, now instant) *limiter.AccountState {
	st := &limiter.AccountState{Debt: int64(a.debt), Demand: a.demandPerSecond(r, now), Requesting: a.requesting}
	for i := range a.remaining {
		events := int64(a.remaining[i])
		if i == 1 && a.share > 0 {
			events += a.accrued(r, now)
		}
		if events > 0 {
			st.Leases = append(st.Leases, limiter.LeaseState{
				Events: events, Lasts: time.Duration(a.usableFor(i, now)) * time.Microsecond,
			})
		}
	}
	if a.appliesTo(r) && a.denies(r, now, math.MaxInt64) {
		st.DeniedFor = time.Duration(a.rememberUntil.since(now)) * time.Microsecond
		st.DeniedCost = int64(a.deniedCost)
	}
	return st
}

// demandPerSecond returns how many events takes will probably spend per second.
func (a account) demandPerSecond(r *limiter.Rule, now instant) float64 {
	horizon := float64(demandHorizon * r.LeaseTime())
	demand := float64(a.demand)*math.Exp(-float64(a.sinceRequest(now))/horizon) + float64(a.taken)
	return demand / horizon * 1e6
}
