package lease

import (
	"hash/maphash"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/limiter/table"
)

// A location is where the account of a take is kept, if there is one.
type location struct {
	book  *Zone
	shard *shard
	key   table.Key
}

// find makes p the place of k, and reports whether there may be an account there: else the lender decides.
func (s *Store) find(p *location, k *limiter.Take) bool {
	b := s.bookOf(k.Rule)
	if b == nil {
		return false
	}
	s.findIn(p, b, k)
	return true
}

// bookOf returns the zone of r, nil when it is not one that is open in s, so that the lender decides.
func (s *Store) bookOf(r *limiter.Rule) *Zone {
	z, _ := r.Zone.(*Zone)
	if z == nil || z.store != s || z.closed.Load() {
		return nil
	}
	return z
}

// findIn makes p the place of k in b, which may have been closed.
func (s *Store) findIn(p *location, b *Zone, k *limiter.Take) {
	p.book = b
	p.key.Hash = maphash.Bytes(s.seed, k.Key) ^ uint64(k.Rule.ID)*0x9E3779B97F4A7C15 // 2^64 over the golden ratio: spreads IDs
	p.key.ID, p.key.Text = k.Rule.ID, k.Key
	p.shard = b.shard(p.key.Hash)
}

// account returns the account, if there is one. The shard is locked.
func (p *location) account() (a limiter.Account, ok bool) {
	e, dealings := p.shard.accounts.Find(&p.key)
	if e == nil {
		return a, false
	}
	return limiter.Account{Hot: e.Value(), Cold: dealings}, true
}

// queue returns what waits for the account, nil when it is not asking. The shard is locked.
func (p *location) queue() *queue { return p.shard.queues[name{p.key.ID, string(p.key.Text)}] }

// ask has f carry a loan for a and for those in q. a must not be asking. The shard is locked.
func (p *location) ask(f *leaseRequest, a limiter.Account, r *limiter.Rule, q *queue) {
	if p.shard.queues == nil {
		p.shard.queues = make(map[name]*queue)
	}
	p.shard.queues[name{p.key.ID, string(f.key)}] = q
	p.book.rules.note(r)
	f.add(target{book: p.book, shard: p.shard, hash: p.key.Hash, queue: q}, a, r)
}

// lockOrCreate locks the shard of p and returns the account, which is new if there was none. It returns none, and locks nothing,
// when there is no room for another one, or when the zone has ended.
func (s *Store) lockOrCreate(p *location, r *limiter.Rule, now limiter.Instant) (a limiter.Account, ok bool) {
	p.shard.mu.Lock()
	if a, ok = p.account(); ok {
		return a, true
	}
	p.shard.mu.Unlock()
	if !s.reserve(p, r, now) {
		return a, false
	}
	p.shard.mu.Lock()
	if a, ok = p.account(); ok { // somebody else was faster
		p.book.release()
		return a, true
	}
	if p.book.closed.Load() {
		p.shard.mu.Unlock()
		p.book.release()
		return a, false
	}
	return p.shard.account(p.shard.accounts.Insert(&p.key)), true
}
