package concurrency

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// askEvery is the time after which a node asks the lender again for requests that wait for their
// turn: permits become free on other nodes, which tell nobody.
const askEvery = 50 * time.Millisecond

// AcquireInTurn is like Acquire, but if no permit of the key is free, the request waits for at most
// wait until one is, behind those that wait already. It is denied at once if too many wait. While
// the lender does not answer, Rule.OnOutage decides it at once.
//
// In a fleet, each node has a queue of its own. A permit that is released on a node goes to the
// queue of that node.
func (s *Limiter) AcquireInTurn(ctx context.Context, now time.Time, r *Rule, key []byte, wait time.Duration) (
	Permit, limiter.Decision, error,
) {
	at, sh := s.options.Clock(now), s.shardOf(key)
	sh.Lock()
	a, w := sh.accountOf(r, key, at), &waiter{done: make(chan struct{})}
	s.admitQueueLocked(a, at)
	if ok, source, known := s.known(a, at); known && ok {
		defer sh.Unlock()
		w.since = at
		a.begin()
		a.decide(&w.decision, at, true, s.leases(), source)
		return s.permitOf(sh, a, w)
	}
	if s.leases() {
		if err := s.options.Lender.Refusal(key); err != nil {
			defer sh.Unlock()
			s.decideInOutage(a, w, at, err)
			return s.permitOf(sh, a, w)
		}
	}
	entered := s.enqueueLocked(sh, a, w)
	if !entered {
		s.denyTurnLocked(a, w, at)
	}
	sh.Unlock()
	if entered {
		s.awaitTurn(ctx, sh, a, w, wait)
	}
	p, d, err := s.permitOf(sh, a, w)
	if p.store != nil {
		p.waited = time.Duration(w.since-at) * time.Microsecond
	}
	return p, d, err
}

// awaitTurn waits until w is decided. After wait it denies w, and when ctx ends it sets the error
// of w.
func (s *Limiter) awaitTurn(ctx context.Context, sh *shard, a *account, w *waiter, wait time.Duration) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-w.done:
		return
	case <-timer.C:
	case <-ctx.Done():
	}
	sh.Lock()
	defer sh.Unlock()
	if w.place == nil { // the request is decided
		return
	}
	s.dequeueLocked(a, w)
	if err := ctx.Err(); err != nil {
		w.err = fmt.Errorf("concurrency: %w", err)
		return
	}
	s.denyTurnLocked(a, w, s.now())
}

// denyTurnLocked denies a request that has waited too long, or is not to wait.
func (s *Limiter) denyTurnLocked(a *account, w *waiter, now limiter.Instant) {
	source := limiter.FromStore
	if s.leases() {
		source = limiter.FromRememberedDenial
	}
	a.decide(&w.decision, now, false, s.leases(), source)
}

// enqueueLocked adds a request to the queue of its key, and reports false if too many wait.
func (s *Limiter) enqueueLocked(sh *shard, a *account, w *waiter) bool {
	if a.queue == nil {
		a.queue = new(queue)
	}
	a.queue.most = a.rule.mostQueued()
	of := s.queuedOf(a.rule.ID)
	if a.queue.isFull() || of.Load() >= MostQueued/2 || s.queued.Load() >= MostQueued {
		return false
	}
	w.rule = of
	of.Add(1)
	s.queued.Add(1)
	a.queue.push(w)
	if s.leases() && !a.asking {
		a.asking = true
		time.AfterFunc(askEvery, func() { s.askForQueue(sh, a) })
	}
	return true
}

// dequeueLocked removes a request from the queue.
func (s *Limiter) dequeueLocked(a *account, w *waiter) {
	a.queue.remove(w)
	s.leftQueue(w)
}

func (s *Limiter) leftQueue(w *waiter) {
	w.rule.Add(-1)
	s.queued.Add(-1)
}

// queuedOf returns how many requests of a rule wait for their turn.
func (s *Limiter) queuedOf(rule uint32) *atomic.Int64 {
	of, found := s.queuedOfRules.Load(rule)
	if !found {
		of, _ = s.queuedOfRules.LoadOrStore(rule, new(atomic.Int64))
	}
	return of.(*atomic.Int64)
}

// admitQueueLocked admits the queued requests whose turn it is, as many as there are permits for.
func (s *Limiter) admitQueueLocked(a *account, now limiter.Instant) {
	for a.queued() > 0 && len(a.waiters) == 0 && a.inFlight < a.usable(now, s.leases()) {
		w := a.queue.pop()
		s.leftQueue(w)
		w.since = now
		a.begin()
		a.decide(&w.decision, now, true, s.leases(), s.local())
		close(w.done)
	}
}

// failQueueLocked decides all queued requests by Rule.OnOutage, because the lender has failed with
// err.
func (s *Limiter) failQueueLocked(a *account, now limiter.Instant, err error) {
	for a.queued() > 0 {
		w := a.queue.pop()
		s.leftQueue(w)
		s.decideInOutage(a, w, now, err)
		close(w.done)
	}
}

// askForQueue asks the lender for permits for the queued requests, every askEvery until no request
// is queued.
func (s *Limiter) askForQueue(sh *shard, a *account) {
	select {
	case <-s.closing:
		return
	default:
	}
	var r *LeaseRequest
	sh.Lock()
	if a.asking = a.queued() > 0; a.asking {
		if !a.calling {
			now, nodes := s.now(), s.options.Nodes()
			r = a.request(now, a.spare(nodes), nodes)
		}
		time.AfterFunc(askEvery, func() { s.askForQueue(sh, a) })
	}
	sh.Unlock()
	if r != nil {
		s.send(sh, a, r)
	}
}
