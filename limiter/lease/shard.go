package lease

import (
	"math"
	"sync"
	"unsafe"

	"github.com/fleetlimit/fleetlimit/internal/keyed"
	"github.com/fleetlimit/fleetlimit/limiter"
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
	accounts keyed.Table[hot, cold]
	queues   map[name]*queue // of the accounts that are asking; made when one is

	// By hash, of accounts that have something to spend or to tell, but whose last loan has failed, or for whose flight there
	// was no room. Made when there is one.
	backoffs map[uint64]backoff
}

// An entry is the balance of an account, with its key. Its dealings are apart from it, as most takes do not need them.
type entry = keyed.Entry[hot]

// account returns the account of e.
func (s *shard) account(e *entry) account {
	return account{e.Value(), s.accounts.Cold(e)}
}

// A name tells an account from all others of its shard.
type name struct {
	id  uint32
	key string
}

const (
	// sampleSize is how many accounts that may go are compared to find the idlest.
	sampleSize = 16

	// searchSize is how many accounts are looked at, those that may not go included, before a search gives up.
	searchSize = 64
)

// idlest returns the account of s, which is locked, that is missed least among a few, nil when none of them may go; and how
// many it has looked at. An account that is asking, that owes, or that remembers a denial stays; so does one that has something
// to give back, unless that may be told.
func (s *shard) idlest(now limiter.Instant, tell bool) (victim *entry, seen int) {
	sampled, idleSince := 0, limiter.Never
	s.accounts.Sample(func(e *entry) (more bool) {
		seen++
		a := s.account(e)
		if leased, owed := a.Outstanding(); owed == 0 && (tell || leased == 0) && !a.Asking() && !a.Denies(now, math.MaxInt64) {
			sampled++
			if since := a.IdleSince(now); since < idleSince {
				victim, idleSince = e, since
			}
		}
		return sampled < sampleSize && seen < searchSize
	})
	return victim, seen
}
