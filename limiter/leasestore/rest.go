package leasestore

import (
	"math/rand/v2"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// A rest is the time in which accounts ask for nothing in the background. Invariant: the wheel comes when it is over, or an
// account asks whose answer ends it or begins the next one.
type rest struct {
	until  limiter.Instant
	failed uint8 // background loans in a row, before it; failedMost at most
}

const (
	// firstPause is the longest time, in µs, until debt is told again after one failure. It doubles with every further one.
	firstPause limiter.Instant = 125_000

	// failedMost is how many failures are told from more. After those a pause lasts 2 s at most.
	failedMost = 4
)

// pause returns how long to rest after a failure that so many others came before. part is in [0, 1), at random, so that not all
// accounts come back at the same time.
func pause(failed uint8, part float64) limiter.Instant {
	longest := firstPause << min(failed, failedMost)
	return longest - limiter.Instant(part*float64(longest/2))
}

// pauseAfterFailure has a, whose loan has failed, rest if it has something to spend or to tell: soon it tells again what it owes,
// but a store that is down is not asked for more all the time. The shard is locked.
func (s *Store) pauseAfterFailure(p *place, a limiter.Account, now limiter.Instant) {
	r := p.shard.rests[p.key.Hash]
	leased, owed := a.Outstanding()
	switch {
	case leased+owed == 0: // each take has to ask
		p.shard.wake(p.key.Hash)
		return
	case now < r.until: // this was for a take that waited
		return
	case owed > 0:
		r.until = now + pause(r.failed, rand.Float64())
	default:
		r.until = now + pause(failedMost, rand.Float64())
	}
	r.failed = min(r.failed+1, failedMost)
	s.rest(p, r)
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
