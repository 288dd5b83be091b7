package lease

import (
	"math/rand/v2"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// A backoff is the time in which accounts ask for nothing in the background. Invariant: the wheel comes when it is over, or an
// account asks whose answer ends it or begins the next one.
type backoff struct {
	until  limiter.Instant
	failed uint8 // background loans in a row, before it; failedMost at most
}

const (
	// firstPause is the longest time, in µs, until debt is told again after one failure. It doubles with every further one.
	firstPause limiter.Instant = 125_000

	// failedMost is how many failures are told from more. After those a pause lasts 2 s at most.
	maxFailures = 4
)

// pause returns how long to rest after a failure that so many others came before. part is in [0, 1), at random, so that not all
// accounts come back at the same time.
func pause(failed uint8, part float64) limiter.Instant {
	longest := firstPause << min(failed, maxFailures)
	return longest - limiter.Instant(part*float64(longest/2))
}

// pauseAfterFailure has a, whose loan has failed, rest if it has something to spend or to tell: soon it tells again what it owes,
// but a store that is down is not asked for more all the time. The shard is locked.
func (s *Store) pauseAfterFailure(p *location, a account, now limiter.Instant) {
	r := p.shard.backoffs[p.key.Hash]
	leased, owed := a.Outstanding()
	switch {
	case leased+owed == 0: // each take has to ask
		p.shard.clearBackoff(p.key.Hash)
		return
	case now < r.until: // this was for a take that waited
		return
	case owed > 0:
		r.until = now + pause(r.failed, rand.Float64())
	default:
		r.until = now + pause(maxFailures, rand.Float64())
	}
	r.failed = min(r.failed+1, maxFailures)
	s.backOff(p, r)
}

// later has the wheel come soon, as there is no room for the flight of what an account has to tell. The shard is locked.
func (s *Store) later(p *location, now limiter.Instant) {
	if !p.shard.backingOff(p.key.Hash) {
		s.backOff(p, backoff{until: now})
	}
}

// backOff has the accounts of the hash of p rest, and the wheel come afterwards. The shard is locked.
func (s *Store) backOff(p *location, r backoff) {
	if p.shard.backoffs == nil {
		p.shard.backoffs = make(map[uint64]backoff)
	}
	p.shard.backoffs[p.key.Hash] = r
	s.wheel.add(due{r.until, p.book, p.key.Hash})
}

// backingOff reports whether the accounts with a hash rest, or just tell what they rested with. s is locked.
func (s *shard) backingOff(hash uint64) bool {
	_, rests := s.backoffs[hash]
	return rests
}

// clearBackoff ends the rest of the accounts with a hash. s is locked.
func (s *shard) clearBackoff(hash uint64) {
	delete(s.backoffs, hash)
	if len(s.backoffs) == 0 { // what a rush needed is not kept
		s.backoffs = nil
	}
}
