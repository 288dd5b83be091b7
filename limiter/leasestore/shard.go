package leasestore

import (
	"math"
	"sync"
	"unsafe"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/limiter/table"
)

// A shard has a part of a book's accounts.
type shard struct {
	shardFields
	_ [(shardSize - unsafe.Sizeof(shardFields{})%shardSize) % shardSize]byte
}

// shardSize is two cache lines, the unit that processors prefetch, so that shards do not slow each other down.
const shardSize = 128

type shardFields struct {
	mu       sync.Mutex // guards what follows
	accounts table.Table[limiter.Account]
	queues   map[name]*queue // of the accounts that are asking; made when one is

	// By hash, of the accounts that have something leased or owe, but whose last loan has failed: until when they ask for
	// nothing in the background. The wheel comes then. Made when there is one.
	rests map[uint64]limiter.Instant
}

// An entry is an account with its key.
type entry = table.Entry[limiter.Account]

// A name tells an account from all others of its shard.
type name struct {
	id  uint32
	key string
}

// rest has the accounts with a hash ask for nothing in the background until then, and reports whether they were free to. s
// is locked.
func (s *shard) rest(hash uint64, until limiter.Instant) (began bool) {
	if s.rests == nil {
		s.rests = make(map[uint64]limiter.Instant)
	}
	_, rests := s.rests[hash]
	if !rests {
		s.rests[hash] = until
	}
	return !rests
}

const (
	// sampleSize is how many accounts that may go are compared to find the idlest.
	sampleSize = 16

	// searchSize is how many accounts are looked at, those that may not go included, before a search gives up.
	searchSize = 64
)

// idlest returns the account of s, which is locked, that is missed least among a few, nil when none of them may go; and how
// many it has looked at. An account that is asking, that owes, or that remembers a denial stays.
func (s *shard) idlest(now limiter.Instant) (victim *entry, seen int) {
	sampled, idleSince := 0, limiter.Never
	s.accounts.Sample(func(e *entry) (more bool) {
		seen++
		a := e.Value()
		if _, owed := a.Outstanding(); owed == 0 && !a.Asking() && !a.Denies(now, math.MaxInt64) {
			sampled++
			if since := a.IdleSince(now); since < idleSince {
				victim, idleSince = e, since
			}
		}
		return sampled < sampleSize && seen < searchSize
	})
	return victim, seen
}
