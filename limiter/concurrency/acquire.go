package concurrency

import (
	"context"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// A Permit is held by a request in flight. It must be released once.
type Permit struct {
	store   *Limiter
	shard   *shard
	account *account
	since   limiter.Instant
	waited  time.Duration
}

// Waited returns how long the request has waited for its turn: see [Limiter.AcquireInTurn].
func (p *Permit) Waited() time.Duration { return p.waited }

// Acquire decides whether one more request of a key may be in flight, and returns its permit. If
// the lender does not answer, Acquire returns an error and the decision by Rule.OnOutage. If ctx
// ends, it returns an error and no decision: then Source.WithoutStore reports false.
func (s *Limiter) Acquire(ctx context.Context, now time.Time, r *Rule, key []byte) (Permit, limiter.Decision, error) {
	at, sh := s.options.Clock(now), s.shardOf(key)
	var d limiter.Decision
	sh.Lock()
	a := sh.accountOf(r, key, at)
	s.admitQueueLocked(a, at) // the limit may have been raised
	ok, source, known := s.known(a, at)
	if !known {
		return s.wait(ctx, sh, a, at)
	}
	if ok {
		a.begin()
	}
	a.decide(&d, at, ok, s.leases(), source)
	sh.Unlock()
	if !ok {
		return Permit{}, d, nil
	}
	return Permit{store: s, shard: sh, account: a, since: at}, d, nil
}

// known decides about one more request without a call to the lender. The result known is false if
// the node does not know enough for that.
func (s *Limiter) known(a *account, at limiter.Instant) (ok bool, source limiter.Source, known bool) {
	leases := s.leases()
	switch {
	case len(a.waiters) == 0 && a.queued() == 0 && a.inFlight < a.usable(at, leases):
		return true, s.local(), true
	case !leases:
		return false, limiter.FromStore, true
	case at < a.deniedUntil, a.queued() > 0:
		return false, limiter.FromRememberedDenial, true
	}
	return false, 0, false
}

// local returns the source of admissions without a call to the lender.
func (s *Limiter) local() limiter.Source {
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
	var r *LeaseRequest
	if s.leases() {
		a.admitWaiters(at)
	}
	s.admitQueueLocked(a, at)
	if s.leases() {
		r = a.next(at, s.options.Nodes())
	}
	p.shard.Unlock()
	if r != nil {
		s.send(p.shard, a, r)
	}
}
