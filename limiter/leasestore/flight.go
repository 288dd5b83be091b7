package leasestore

import (
	"bytes"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// A flight is a request to the lender on its way: loans of one key.
type flight struct {
	key   []byte
	asked limiter.Instant
	legs  []leg
	loans []limiter.Loan

	background bool   // it is counted as traffic
	refill     bool   // what is wanted is asked for although nobody waits
	party      *party // that waits until it has landed; may be nil
}

// A leg is where the answer to one loan of a flight belongs.
type leg struct {
	book  *book
	shard *shard // nil: the account has gone, and nobody waits for the answer; nor is there a queue
	hash  uint64
	queue *queue
	run   uint64 // of the lender that the loan tells of
}

func newFlight(key []byte, now limiter.Instant) *flight {
	return &flight{key: bytes.Clone(key), asked: now}
}

// begin returns a flight for a that nobody waits for, or that it is too late as there are as many as that, so no room for it. The
// shard is locked.
func (s *Store) begin(p *place, a limiter.Account, r *limiter.Rule, now limiter.Instant, most int64, refill bool) (f *flight, late bool) {
	if !s.traffic.begin(most) {
		return nil, true
	}
	f = newFlight(p.key.Text, now)
	f.background, f.refill = true, refill
	p.ask(f, a, r, new(queue))
	return f, false
}

// fits reports whether f has room for one more loan of this key.
func (f *flight) fits(key []byte) bool {
	return len(f.loans) < limiter.MaxLoans && bytes.Equal(f.key, key)
}

// add has f carry a loan for the account a, whose shard is locked and which must not be asking.
func (f *flight) add(l leg, a limiter.Account, r *limiter.Rule) {
	loan := limiter.Loan{Key: f.key}
	var need, more int64
	if l.queue != nil {
		need, more = l.queue.board()
	}
	l.book.expire(a, r, f.asked)
	if f.refill {
		a.Refill(r, f.asked, &loan)
	} else {
		a.Ask(r, f.asked, need, more, &loan)
	}
	if l.queue != nil {
		var lost int64
		loan.Undo, lost = l.queue.undone(loan.Run)
		lost += l.queue.giveBack(&loan)
		l.book.stats.lost.Add(uint64(lost))
	}
	l.run = loan.Run
	f.legs = append(f.legs, l)
	f.loans = append(f.loans, loan)
}

// launch sends f on its way, if it is one. No lock is held.
func (s *Store) launch(f *flight) {
	if f == nil {
		return
	}
	s.stats.asked()
	for i := range f.loans {
		f.loans[i].Nodes = s.options.Nodes()
	}
	s.lender.Lend(f.loans, func(err error) { s.land(f, err) })
}

// land deals with the answer to f.
func (s *Store) land(f *flight, err error) {
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
			s.launch(next)
		}
	}
	if f.background {
		s.traffic.end()
	}
	if f.party != nil {
		f.party.leave()
	}
}
