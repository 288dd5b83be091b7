package lease

import (
	"context"
	"errors"
	"sync"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// takeInOutage decides the takes that have failed, unless another one is denied or nobody waits any
// more. It comes last: a denial that all nodes agree on is worth more.
func (s *Store) takeInOutage(ctx context.Context, set *takeSet) {
	for i := range set.takes {
		t := &set.takes[i]
		switch {
		case t.state != failed:
		case ctx.Err() == nil && !set.any(denied):
			s.takeFailed(t, set.now)
		case t.waiter != nil:
			t.shard.Lock()
			if t.waiter.status == waiting {
				t.queueLocked().leave(t.waiter, false)
			} else {
				t.adoptReply() // which has come meanwhile
			}
			t.shard.Unlock()
		}
	}
}

// takeFailed decides a take that has failed: by its account, or with all others that have none.
func (s *Store) takeFailed(t *takeState, now instant) {
	decide := func(a account) {
		retry := now.plus(s.options.ProbeEvery.Microseconds())
		a.takeInOutage(t.Rule, now, t.Cost, s.options.OutageNodes(), retry, &t.Decision)
		if isLate(t.Err) {
			t.Decision.Source = limiter.FromLate
		}
		if t.state = admitted; !t.Decision.OK {
			t.state = denied
		}
	}
	if t.waiter != nil || (t.refused || t.waits()) && t.zone != nil {
		found := t.withAccount(func(a account) {
			if t.waiter == nil || !t.adoptReply() {
				decide(a)
				t.concludeWithoutLender(a, now)
			}
		})
		if found {
			return
		}
	}
	z, _ := t.Rule.Zone.(*Zone) // which may be closed
	if z == nil {
		z = new(Zone)
	}
	z.crowd.decide(t.Rule, decide)
	if t.state == admitted { // without an account, nobody tells the lender
		s.stats.debt.Add(uint64(t.Cost))
		s.stats.debtDropped.Add(uint64(t.Cost))
	}
}

// concludeWithoutLender has the lender hear of t, which a has decided without it, if t is admitted:
// by the request under way that carries its waiter, or else by a later one, as debt.
func (t *takeState) concludeWithoutLender(a account, now instant) {
	w, debt := t.waiter, int64(0)
	switch {
	case w != nil && w.status == waiting:
		debt = t.queueLocked().leave(w, t.state == admitted)
	case t.state == admitted && (t.refused || w != nil && errors.Is(w.err, limiter.ErrNotAsked) ||
		w == nil && errors.Is(t.Err, limiter.ErrNotAsked)):
		debt = t.Cost
	}
	if debt > 0 {
		t.indebted = true
		t.zone.store.addDebt(a, t.Rule, now, debt)
		if t.queueLocked() == nil {
			t.zone.store.backOffLocked(&t.location, a, now)
		}
	}
}

// isLate reports whether err means that the lender has not answered in time.
func isLate(err error) bool { return errors.Is(err, ErrTimeout) || errors.Is(err, limiter.ErrLate) }

// addDebt adds cost events to the debt of a, and counts them.
func (s *Store) addDebt(a account, r *limiter.Rule, now instant, cost int64) {
	if cost == 0 {
		return
	}
	s.stats.debt.Add(uint64(cost))
	s.stats.debtDropped.Add(uint64(a.addDebt(r, now, cost)))
}

// A crowd is the keys that have no account, as they found no room or their zone is closed. It has
// one account per rule, by which all these keys together are decided when the lender cannot: like
// one key.
type crowd struct {
	mu       sync.Mutex
	accounts map[uint32]account // by rule ID
}

// decide has the account of a rule decide.
func (c *crowd) decide(r *limiter.Rule, decide func(a account)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a, found := c.accounts[r.ID]
	if !found {
		if c.accounts == nil {
			c.accounts = make(map[uint32]account)
		}
		a = account{new(hot), new(cold)}
		c.accounts[r.ID] = a
	}
	decide(a)
}
