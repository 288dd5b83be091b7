package concurrency

import (
	"context"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// A Permit is held by a request in flight. It is to be released once.
type Permit struct {
	store   *Store
	shard   *shard
	account *account
	since   limiter.Instant
}

// Acquire decides whether one more request of a key may be in flight, and returns its permit. If the
// lender does not answer, there is an error, and the decision is by Rule.OnOutage. If ctx ends, there
// is an error without a decision, whose Source says so.
func (s *Store) Acquire(ctx context.Context, now time.Time, r *Rule, key []byte) (Permit, limiter.Decision, error) {
	at, sh := s.options.Clock(now), s.shardOf(key)
	var d limiter.Decision
	sh.Lock()
	a := sh.of(r, key, at)
	switch leases := s.leases(); {
	case len(a.waiters) == 0 && a.inFlight < a.usable(at, leases):
		a.begin()
		a.decide(&d, at, true, leases, s.local())
		sh.Unlock()
		return Permit{s, sh, a, at}, d, nil
	case !leases:
		a.decide(&d, at, false, leases, limiter.FromStore)
		sh.Unlock()
		return Permit{}, d, nil
	case at < a.deniedUntil:
		a.decide(&d, at, false, leases, limiter.FromRememberedDenial)
		sh.Unlock()
		return Permit{}, d, nil
	}
	return s.wait(ctx, sh, a, at)
}

// Preview decides as Acquire would, as far as the node knows: it does not ask the lender, which may have
// a permit that the node lacks.
func (s *Store) Preview(now time.Time, r *Rule, key []byte) (d limiter.Decision) {
	at, sh := s.options.Clock(now), s.shardOf(key)
	sh.Lock()
	defer sh.Unlock()
	a, leases := sh.of(r, key, at), s.leases()
	ok := a.inFlight < a.usable(at, leases) || leases && a.inFlight < r.Limit && at >= a.deniedUntil
	until := a.breachUntil
	a.decide(&d, at, ok, leases, s.local())
	d.Breach, a.breachUntil = false, until
	return d
}

// local returns the source of decisions without a call.
func (s *Store) local() limiter.Source {
	if s.leases() {
		return limiter.FromLease
	}
	return limiter.FromStore
}

// Release ends the request that has the permit, at now.
func (p Permit) Release(now time.Time) {
	s, a := p.store, p.account
	at := s.options.Clock(now)
	p.shard.Lock()
	a.end(int64(at - p.since))
	var r *Request
	if s.leases() {
		a.admitWaiters(at)
		r = a.next(at, s.options.Nodes())
	}
	p.shard.Unlock()
	if r != nil {
		s.send(p.shard, a, r)
	}
}
