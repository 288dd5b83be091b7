package leasestore

import (
	"math/rand/v2"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// A rest is the time in which accounts ask for nothing in the background. Invariant: the wheel comes when it is over, or an
// account asks whose answer ends it or begins the next one.
type rest struct{ until limiter.Instant }

// pause is how long an account whose loan has failed asks for nothing in the background at least, in µs; twice as long at most,
// so that not all of them come back at the same time.
const pause limiter.Instant = 1_000_000

// pauseAfterFailure has a, whose loan has failed, rest if it has something to spend or to tell. The shard is locked.
func (s *Store) pauseAfterFailure(p *place, a *limiter.Account, now limiter.Instant) {
	leased, owed := a.Outstanding()
	switch {
	case leased+owed == 0: // each take has to ask
		p.shard.wake(p.key.Hash)
	case now >= p.shard.rests[p.key.Hash].until: // else this was for a take that waited
		s.rest(p, rest{now + pause + rand.N(pause)})
	}
}

// later has the wheel come soon, as there is no room for the flight of what an account has to tell. The shard is locked.
func (s *Store) later(p *place, now limiter.Instant) {
	if !p.shard.resting(p.key.Hash) {
		s.rest(p, rest{until: now})
	}
}

// rest has the accounts of the hash of p rest, and the wheel come afterwards. The shard is locked.
func (s *Store) rest(p *place, r rest) {
	if p.shard.rests == nil {
		p.shard.rests = make(map[uint64]rest)
	}
	p.shard.rests[p.key.Hash] = r
	s.wheel.add(due{r.until, p.book, p.key.Hash})
}

// resting reports whether the accounts with a hash rest, or just tell what they rested with. s is locked.
func (s *shard) resting(hash uint64) bool {
	_, rests := s.rests[hash]
	return rests
}

// wake ends the rest of the accounts with a hash. s is locked.
func (s *shard) wake(hash uint64) {
	delete(s.rests, hash)
	if len(s.rests) == 0 { // what a rush needed is not kept
		s.rests = nil
	}
}
