package lease

import (
	"bytes"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// A leaseRequest is a request to the lender on its way: loans of one key.
type leaseRequest struct {
	key   []byte
	asked limiter.Instant
	legs  []target
	loans []limiter.LeaseRequest

	background bool   // it is counted as traffic
	refill     bool   // what is wanted is asked for although nobody waits
	party      *latch // that waits until it has landed; may be nil
}

// A target is where the answer to one loan of a flight belongs.
type target struct {
	book  *Zone
	shard *shard // nil: the account has gone, and nobody waits for the answer; nor is there a queue
	hash  uint64
	queue *queue
	run   uint64 // of the lender that the loan tells of
}

func newLeaseRequest(key []byte, now limiter.Instant) *leaseRequest {
	return &leaseRequest{key: bytes.Clone(key), asked: now}
}

// begin returns a flight for a that nobody waits for, or that it is too late as there are as many as that, so no room for it. The
// shard is locked.
func (s *Store) begin(p *location, a limiter.Account, r *limiter.Rule, now limiter.Instant, most int64, refill bool) (f *leaseRequest, late bool) {
	if !s.background.begin(most) {
		return nil, true
	}
	f = newLeaseRequest(p.key.Text, now)
	f.background, f.refill = true, refill
	p.ask(f, a, r, new(queue))
	return f, false
}

// fits reports whether f has room for one more loan of this key.
func (f *leaseRequest) fits(key []byte) bool {
	return len(f.loans) < limiter.MaxLeaseRequests && bytes.Equal(f.key, key)
}

// add has f carry a loan for the account a, whose shard is locked and which must not be asking.
func (f *leaseRequest) add(l target, a limiter.Account, r *limiter.Rule) {
	loan := limiter.LeaseRequest{Key: f.key}
	var need, more int64
	if l.queue != nil {
		need, more = l.queue.startWaiting()
	}
	l.book.expire(a, r, f.asked)
	if f.refill {
		a.Refill(r, f.asked, &loan)
	} else {
		a.Ask(r, f.asked, need, more, &loan)
	}
	if l.queue != nil {
		var lost int64
		loan.Cancel, lost = l.queue.undone(loan.Incarnation)
		lost += l.queue.giveBack(&loan)
		l.book.store.stats.lost.Add(uint64(lost))
	}
	l.run = loan.Incarnation
	f.legs = append(f.legs, l)
	f.loans = append(f.loans, loan)
}

// send sends f on its way, if it is one. No lock is held.
func (s *Store) send(f *leaseRequest) {
	if f == nil {
		return
	}
	s.stats.asked()
	for i := range f.loans {
		f.loans[i].Nodes = s.options.Nodes()
	}
	s.lender.Lend(f.loans, func(err error) { s.complete(f, err) })
}

// complete deals with the answer to f.
func (s *Store) complete(f *leaseRequest, err error) {
	now := s.options.Clock()
	s.options.Observe(time.Duration(now-f.asked)*time.Microsecond, err)
	for i := range f.legs {
		l := &f.legs[i]
		settled := s.stats.answered(&f.loans[i], l.run, err)
		l.book.debt.Add(-settled)
		if l.shard != nil {
			next := s.settle(l, &f.loans[i], f.asked, now, err)
			if next != nil && next.loans[0].Need == 0 { // it takes the place of f
				next.background, f.background = f.background, false
			}
			s.send(next)
		}
	}
	if f.background {
		s.background.end()
	}
	if f.party != nil {
		f.party.leave()
	}
}
