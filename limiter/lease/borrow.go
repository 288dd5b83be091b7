package lease

import (
	"context"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// borrow asks the lender for what accounts lack: for the undecided takes that are to be asked for.
func (s *Store) borrow(ctx context.Context, r *request) {
	begin := time.Now()
	b := batch{party: newLatch()}
	b.party.join() // until all have joined
	for i := range r.seats {
		if t := &r.seats[i]; t.asks && t.state == undecided {
			s.join(t, &r.takes[i], r.now, &b)
		}
		if r.seats[i].state == denied { // by what another request has heard meanwhile
			break
		}
	}
	for _, f := range b.flights {
		s.send(f)
	}
	b.party.leave()
	late := b.party.wait(ctx, s.timeLeft(r))
	r.now = s.options.Clock()
	for i := range r.seats {
		if t := &r.seats[i]; t.asks && t.waiter != nil {
			s.collect(t, &r.takes[i], r.now, late, time.Since(begin))
		}
	}
}

// A batch is what a request has begun when it asks for several takes at the same time.
type batch struct {
	party   *latch
	flights []*leaseRequest
}

// flightFor returns a flight with room for a loan of this key, which is new if there was none.
func (b *batch) flightFor(key []byte, now limiter.Instant) *leaseRequest {
	for _, f := range b.flights {
		if f.fits(key) {
			return f
		}
	}
	f := newLeaseRequest(key, now)
	b.flights = append(b.flights, f)
	return f
}

// join has k wait for the lender, unless its account can decide it by now.
func (s *Store) join(t *takeState, k *limiter.Take, now limiter.Instant, b *batch) {
	var p location
	if !s.find(&p, k) { // the zone was dropped meanwhile
		t.state = delegated
		return
	}
	a, ok := s.lockOrCreate(&p, k.Rule, now)
	if !ok {
		t.state = delegated
		return
	}
	defer p.shard.mu.Unlock()
	p.book.rules.note(k.Rule)
	s.spend(t, k, a, now, s.sharers(p.book, k.Rule, now))
	if t.state == credited {
		s.stats.credited.Add(uint64(k.Cost))
		p.book.debt.Add(k.Cost)
	}
	if t.state != undecided {
		return
	}
	t.waiter = &waiter{cost: k.Cost, party: b.party, book: p.book}
	b.party.join()
	if q := p.queue(); q != nil {
		q.waiting = append(q.waiting, t.waiter)
		return
	}
	p.ask(b.flightFor(k.Key, now), a, k.Rule, &queue{waiting: []*waiter{t.waiter}})
}

// collect takes over the answer that the waiter got. If it got none it is waited for no longer, and late tells why.
func (s *Store) collect(t *takeState, k *limiter.Take, now limiter.Instant, late error, waited time.Duration) {
	w := t.waiter
	reason := late
	if reason == nil {
		reason = w.err
	}
	busy := s.busy(k, reason, waited)
	var p location
	s.findIn(&p, w.book, k)
	p.shard.mu.Lock()
	defer p.shard.mu.Unlock()
	switch {
	case w.answered && w.err == nil:
		k.Decision = w.decision
		switch {
		case !w.decision.OK:
			t.state = denied
		case w.served:
			t.state = served
		case w.decision.Source == limiter.FromLease:
			t.state, t.spent = leased, w.spent
		} // else it would have been served, but for another loan of its flight
	case busy:
		s.takeLate(&p, t, k, now)
	case !w.answered && late == errDenied:
		p.queue().giveUp(w)
	case !w.answered:
		p.queue().giveUp(w)
		t.state, k.Err = failed, late
	default:
		t.state, k.Err = failed, w.err
	}
}
