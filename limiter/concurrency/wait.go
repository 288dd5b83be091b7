package concurrency

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// A waiter is a request that waits for the answer of the lender, or for its turn.
type waiter struct {
	done     chan struct{} // closed when it is decided
	decision limiter.Decision
	err      error
	since    limiter.Instant // when its permit began
	asked    bool            // the last request to the lender is for this waiter, too

	place *list.Element // in the queue; nil if it is not there
	rule  *atomic.Int64 // how many requests of its rule wait for their turn
}

// wait has a request wait for the lender, for at most Options.Timeout. The caller holds the lock of
// the shard, and wait releases it.
func (s *Limiter) wait(ctx context.Context, sh *shard, a *account, at limiter.Instant) (Permit, limiter.Decision, error) {
	w := &waiter{done: make(chan struct{})}
	if err := s.options.Lender.Refusal([]byte(a.key)); err != nil {
		s.decideInOutage(a, w, at, err)
		sh.Unlock()
		return s.permitOf(sh, a, w)
	}
	a.waiters = append(a.waiters, w)
	r := a.next(at, s.options.Nodes())
	sh.Unlock()
	if r != nil {
		s.send(sh, a, r)
	}
	timer := time.NewTimer(s.options.Timeout)
	defer timer.Stop()
	select {
	case <-w.done:
		return s.permitOf(sh, a, w)
	case <-timer.C:
	case <-ctx.Done():
	}
	sh.Lock()
	if i := slices.Index(a.waiters, w); i >= 0 { // otherwise the request is decided
		a.waiters = slices.Delete(a.waiters, i, i+1)
		if err := ctx.Err(); err != nil {
			w.err = fmt.Errorf("concurrency: %w", err)
		} else {
			s.decideInOutage(a, w, s.now(), limiter.ErrLate)
		}
	}
	sh.Unlock()
	return s.permitOf(sh, a, w)
}

func (s *Limiter) now() limiter.Instant { return s.options.Clock(time.Now()) }

// permitOf returns the permit, the decision and the error of a waiter that is decided.
func (s *Limiter) permitOf(sh *shard, a *account, w *waiter) (Permit, limiter.Decision, error) {
	if !w.decision.OK {
		return Permit{}, w.decision, w.err
	}
	return Permit{store: s, shard: sh, account: a, since: w.since}, w.decision, w.err
}

// admitWaiters admits the oldest waiters, as many as there are permits for.
func (a *account) admitWaiters(now limiter.Instant) {
	n := 0
	for ; n < len(a.waiters) && a.inFlight < a.usable(now, true); n++ {
		w := a.waiters[n]
		w.since = now
		a.begin()
		a.decide(&w.decision, now, true, true, limiter.FromStore)
		close(w.done)
	}
	a.waiters = slices.Delete(a.waiters, 0, n)
}

// denyWaiters denies those waiters for which the lender had no permit.
func (a *account) denyWaiters(now limiter.Instant) {
	a.waiters = slices.DeleteFunc(a.waiters, func(w *waiter) bool {
		if w.asked {
			a.decide(&w.decision, now, false, true, limiter.FromStore)
			a.deniedUntil = now + repeatDenial
			close(w.done)
		}
		return w.asked
	})
}

// failWaiters decides all waiters by Rule.OnOutage, because the lender has failed with err.
func (s *Limiter) failWaiters(a *account, now limiter.Instant, err error) {
	for _, w := range a.waiters {
		s.decideInOutage(a, w, now, err)
		close(w.done)
	}
	clear(a.waiters)
	a.waiters = a.waiters[:0]
}

// decideInOutage decides a request by Rule.OnOutage, because the lender has failed with err.
func (s *Limiter) decideInOutage(a *account, w *waiter, now limiter.Instant, err error) {
	ok, source := s.inOutage(a, err)
	if w.err = err; ok {
		w.since = now
		a.begin()
	}
	a.decide(&w.decision, now, ok, true, source)
}

// inOutage says whether Rule.OnOutage admits one more request, because the lender has failed with
// err.
func (s *Limiter) inOutage(a *account, err error) (ok bool, source limiter.Source) {
	source = limiter.FromOutage
	if errors.Is(err, limiter.ErrLate) {
		source = limiter.FromLate
	}
	return a.inFlight < a.rule.inOutage(s.options.OutageNodes()), source
}
