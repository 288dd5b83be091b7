package lease

import (
	"math/rand/v2"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/limiter/table"
)

// settle notes the answer to a loan that was asked for at the instant asked, and gives the waiters theirs. Those that are
// left fly next, and so does what is to be told.
func (s *Store) settle(l *target, loan *limiter.LeaseRequest, asked, now limiter.Instant, err error) (next *leaseRequest) {
	p := location{l.book, l.shard, table.Key{Hash: l.hash, ID: loan.Rule.ID, Text: loan.Key}}
	p.shard.mu.Lock()
	defer p.shard.mu.Unlock()
	a, _ := p.account() // which is there, as those that are asking stay
	q := l.queue
	if err != nil {
		a.Fail()
		s.stats.lost.Add(uint64(q.fail(err)))
		p.finishRequest()
		s.pauseAfterFailure(&p, a, now)
		return nil
	}
	p.shard.clearBackoff(l.hash)
	a.Withhold(-q.late) // which the answer speaks of, or a later one
	a.Answer(loan.Rule, asked, now, loan, rand.Int64N(loan.Jitter()+1), q.owesBack())
	r := l.book.rules.under(loan.Rule.ID, a) // another than the loan's when takes have come under a new one
	q.serve(a, r, loan, now)
	a.Withhold(q.late)
	if l.book.closed.Load() {
		a.Retire()
	}
	l.book.expire(a, r, now)
	if _, ends := a.Due(r, now); loan.Granted > 0 && ends > 0 {
		s.wheel.add(due{ends, l.book, l.hash})
	}
	if q.empty() && !tells(a, r, now) {
		p.finishRequest()
		return nil
	}
	next = newLeaseRequest(loan.Key, now)
	next.add(*l, a, r)
	return next
}

// finishRequest says that the account asks no more. The shard is locked.
func (p *location) finishRequest() {
	n := name{p.key.ID, string(p.key.Text)}
	if q := p.shard.queues[n]; q.closing != nil {
		q.closing.leave()
	}
	delete(p.shard.queues, n)
}
