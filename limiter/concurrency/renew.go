package concurrency

import (
	"sync"
	"time"
)

// send sends a request of an account to the lender, and starts the beats if they have not started.
// The caller holds no lock.
func (s *Limiter) send(sh *shard, a *account, r *LeaseRequest) {
	s.loop.Do(func() { s.ended.Go(s.run) })
	s.exchange(sh, a, r, func() {})
}

// exchange sends a request of an account to the lender, and calls done when it is answered.
func (s *Limiter) exchange(sh *shard, a *account, r *LeaseRequest, done func()) {
	r.Node, r.Sequence = s.node, s.sequence.Add(1)
	s.options.Lender.Exchange(r, func(g Grant, err error) {
		s.answered(sh, a, g, err)
		done()
	})
}

// answered adopts the lender's answer to a request of an account. It decides the waiters of the
// account, and returns the permits that they leave idle.
func (s *Limiter) answered(sh *shard, a *account, g Grant, err error) {
	now := s.now()
	sh.Lock()
	a.calling = false
	if err == nil {
		a.granted(g)
	}
	a.admitWaiters(now)
	s.admitQueueLocked(a, now)
	var r *LeaseRequest
	if err != nil { // the next beat returns idle permits: calls that fail at once would nest here
		s.failWaiters(a, now, err)
		s.failQueueLocked(a, now, err)
	} else {
		a.denyWaiters(now)
		r = a.next(now, s.options.Nodes())
	}
	sh.Unlock()
	if r != nil {
		s.send(sh, a, r)
	}
}

// run attends to all accounts until the limiter is closed.
func (s *Limiter) run() {
	ticker := time.NewTicker(beat)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			s.beat()
		case <-s.closing:
			return
		}
	}
}

// A due is an account with the request that it is to send.
type due struct {
	account *account
	request *LeaseRequest
}

// beat attends to all accounts: it renews their leases, returns the permits that they do not need,
// and removes accounts that are not used.
func (s *Limiter) beat() {
	nodes := s.options.Nodes()
	var all []due
	for i := range s.shards {
		sh := &s.shards[i]
		all = all[:0]
		sh.Lock()
		now := s.now()
		for id, a := range sh.accounts {
			if spare, ask := a.beat(now, nodes); ask {
				all = append(all, due{a, a.request(now, spare, nodes)})
			} else if a.peaks == [2]int64{} && a.isUnused(now) {
				delete(sh.accounts, id)
			}
		}
		sh.Unlock()
		for _, d := range all {
			s.send(sh, d.account, d.request)
		}
	}
}

// closeWithin is how long a limiter that is closed waits for the lender.
const closeWithin = time.Second

// Close returns the permits that are not in use. The permits of requests that are still in flight
// expire.
func (s *Limiter) Close() {
	s.loop.Do(func() {}) // the loop does not begin any more
	close(s.closing)
	s.ended.Wait()
	nodes, returned := s.options.Nodes(), make(chan struct{})
	var calls sync.WaitGroup
	for i := range s.shards {
		sh := &s.shards[i]
		var all []due
		sh.Lock()
		for _, a := range sh.accounts {
			if now := s.now(); !a.calling && a.idle(now) > 0 {
				all = append(all, due{a, a.request(now, 0, nodes)})
			}
		}
		sh.Unlock()
		for _, d := range all {
			calls.Add(1)
			s.exchange(sh, d.account, d.request, calls.Done)
		}
	}
	go func() {
		calls.Wait()
		close(returned)
	}()
	select {
	case <-returned:
	case <-time.After(closeWithin):
	}
}
