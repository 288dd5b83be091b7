package lease

import (
	"context"
	"math"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/limiter/internal/keyed"
)

// Inspect implements [limiter.Operator]. The count is the lender's. Even if the lender fails,
// Inspect returns the account of this node.
func (s *Store) Inspect(ctx context.Context, now limiter.Instant, r *limiter.Rule, key []byte) (limiter.Inspection, error) {
	i, err := s.lender.Inspect(ctx, now, r, key)
	s.withAccount(r, key, func(a account) { i.Account = a.state(r, s.now()) })
	return i, err
}

// Reset implements [limiter.Operator]. It also calls Drop on this node. The other nodes should call
// [Store.Drop] too.
func (s *Store) Reset(ctx context.Context, now limiter.Instant, r *limiter.Rule, key []byte) error {
	if err := s.lender.Reset(ctx, now, r, key); err != nil {
		s.DropDenial(r, key) // the lender may have reset the count all the same
		return err
	}
	s.Drop(r, key)
	return nil
}

// AddQuota implements [limiter.Operator]. It also calls DropDenial on this node. The other nodes
// should call [Store.DropDenial] too.
func (s *Store) AddQuota(
	ctx context.Context, now limiter.Instant, r *limiter.Rule, key []byte, events int64,
) (limiter.CountState, error) {
	c, err := s.lender.AddQuota(ctx, now, r, key, events)
	s.DropDenial(r, key)
	return c, err
}

// Drop drops what this node knows and holds for key under r, because the lender has reset the
// count. Leases of a window are returned, and parts of a bucket stay. The remembered denial and the
// debt are dropped. The reply to a request under way does not restore them.
func (s *Store) Drop(r *limiter.Rule, key []byte) { s.dropPart(r, key, allButDebt) }

// DropDenial drops the denial of key that this node remembers under r, because the lender has given
// back events. So the next take asks the lender. A denial in the reply to a request under way is
// not remembered. Leases and debt stay.
func (s *Store) DropDenial(r *limiter.Rule, key []byte) { s.dropPart(r, key, denialOnly) }

// dropPart calls dropLocked for the account of key under r, if there is one, and sends its call.
func (s *Store) dropPart(r *limiter.Rule, key []byte, what dropped) {
	var c *call
	if l, ok := s.locate(r, key); ok {
		l.withAccount(func(a account) { c = s.dropLocked(&l, a, what, s.now()) })
	}
	s.send(c)
}

// dropLocked drops from the account a, and notes in its requests under way, what an operator has
// made invalid. It returns the call that returns leases, or nil if none is needed now.
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
	a.local, a.localAt = 0, 0 // full now; the reply to a request under way does not fill it again
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

// droppedLocked returns what was dropped for operators since the request of t was sent. owed is how
// much of the debt in that request was not dropped.
func (t *target) droppedLocked() (what dropped, owed int64) {
	u := &t.queue.underWay[t.content]
	return u.dropped, max(0, t.told-u.droppedDebt)
}

// drop notes in the requests under way what was dropped from the account.
func (q *queue) drop(what dropped) {
	for i := range q.underWay {
		q.underWay[i].dropped = max(q.underWay[i].dropped, what)
	}
}

// DropDenials drops all denials that this node remembers in a zone. It is for a node that may not
// have been told what operators have changed. See [Store.DropDenial].
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

// dropDenials drops the remembered denials of some accounts of a shard, from at on. It reports
// whether the shard has more accounts.
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

// dropped says what was dropped from an account because an operator has changed the count.
type dropped uint8

const (
	nothing    dropped = iota
	denialOnly         // events were given back, or may have been
	allButDebt         // the count was reset; dropLocked drops the debt
)

// drop drops from the account what an operator has made invalid.
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
