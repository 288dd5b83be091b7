package lease

import "github.com/fleetlimit/fleetlimit/limiter"

// maxEvictions is how many accounts go at most when one comes, to work off a bound that was lowered.
const maxEvictions = 4

// reserve finds a place in the book of p for one more account, and reports whether there is one. In a book that is full, it
// is that of an account that is missed little. The caller opens an account in the place, or releases it. No lock is held.
func (s *Store) reserve(p *location, r *limiter.Rule, now limiter.Instant) bool {
	b, bound := p.book, int64(r.MaxKeys)
	for n := b.keys.Load(); n < bound; n = b.keys.Load() {
		if b.keys.CompareAndSwap(n, n+1) {
			return true
		}
	}
	if !s.evict(p, now) {
		return false
	}
	for range maxEvictions - 1 {
		if b.keys.Load() <= bound || !s.evict(p, now) {
			break
		}
		b.release()
	}
	return true
}

// evict closes an account of the book of p and leaves its place to the caller, or reports that none of a few may go. It is
// one of the same shard, or of the next ones when there is none. While there is no room for the flight of what is leased, only
// those go that have nothing.
func (s *Store) evict(p *location, now limiter.Instant) bool {
	tell := s.background.begin(maxBackground)
	back, evicted := s.closeIdlest(p, now, tell)
	switch {
	case back != nil:
		back.background = true
		s.send(back)
	case tell:
		s.background.end()
	}
	return evicted
}

// closeIdlest is evict, but that what goes back is the caller's to launch.
func (s *Store) closeIdlest(p *location, now limiter.Instant, tell bool) (back *leaseRequest, closed bool) {
	b := p.book
	first := p.key.Hash >> (64 - shardBits)
	for i, looked := uint64(0), 0; i < uint64(len(b.shards)) && looked < searchSize; i++ {
		sh := &b.shards[(first+i)%uint64(len(b.shards))]
		sh.mu.Lock()
		victim, seen := sh.idlest(now, tell)
		if victim == nil {
			sh.mu.Unlock()
			looked += seen
			continue
		}
		b.forgot.Store(int64(now))
		back := b.close(sh, victim, now)
		sh.mu.Unlock()
		return back, true
	}
	return nil, false
}
