package concurrency

import (
	"crypto/rand"
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// A Limiter counts the requests in flight of all keys. It is safe for concurrent use.
type Limiter struct {
	options  Options
	seed     maphash.Seed
	shards   [shards]shard
	node     string
	sequence atomic.Int64

	queued        atomic.Int64 // number of requests that wait for their turn
	queuedOfRules sync.Map     // their number by the ID of the rule: uint32 -> *atomic.Int64

	loop    sync.Once // starts run with the first request to the lender
	closing chan struct{}
	ended   sync.WaitGroup
}

// shards is the number of shards of a limiter.
const shards = 64

// Options configure a [Limiter]. The zero value is a limiter in memory.
type Options struct {
	Lender      Lender        // nil if the counts are in memory
	Timeout     time.Duration // how long requests wait for the lender; default: 50 ms
	Nodes       func() int    // how many nodes share the limits; default: 1
	OutageNodes func() int    // how many nodes share the limits in an outage; default: Nodes

	// Clock converts a time that was just read to the instant of a clock that never goes back.
	// Default: the wall clock.
	Clock func(time.Time) limiter.Instant
}

// New returns a limiter. It starts no goroutine.
func New(o Options) *Limiter {
	if o.Timeout <= 0 {
		o.Timeout = 50 * time.Millisecond
	}
	if o.Nodes == nil {
		o.Nodes = func() int { return 1 }
	}
	if o.OutageNodes == nil {
		o.OutageNodes = o.Nodes
	}
	if o.Clock == nil {
		o.Clock = limiter.At
	}
	return &Limiter{options: o, seed: maphash.MakeSeed(), node: rand.Text()[:12], closing: make(chan struct{})}
}

// leases reports whether permits are leased.
func (s *Limiter) leases() bool { return s.options.Lender != nil }

// A countID identifies the count of a key.
type countID struct {
	rule uint32
	key  string
}

// A shard has the accounts of some keys.
type shard struct {
	sync.Mutex
	accounts map[countID]*account
	crowded  int // number of accounts at which the next new one removes unused ones
}

// leastCrowded is the least number of accounts of a shard at which unused ones are removed.
const leastCrowded = 64

func (s *Limiter) shardOf(key []byte) *shard { return &s.shards[maphash.Bytes(s.seed, key)%shards] }

// accountOf returns the account of a key, and makes it if there is none.
func (s *shard) accountOf(r *Rule, key []byte, now limiter.Instant) *account {
	if a := s.accounts[countID{r.ID, string(key)}]; a != nil {
		a.rule = r
		return a
	}
	if s.accounts == nil {
		s.accounts, s.crowded = make(map[countID]*account), leastCrowded
	}
	if len(s.accounts) >= s.crowded {
		for id, a := range s.accounts {
			if a.isUnused(now) {
				delete(s.accounts, id)
			}
		}
		s.crowded = max(leastCrowded, 2*len(s.accounts))
	}
	a := &account{key: string(key), rule: r}
	s.accounts[countID{r.ID, a.key}] = a
	return a
}

// InFlight returns how many requests of a key are in flight on this node, and how many permits this
// node has leased and may use.
func (s *Limiter) InFlight(now time.Time, r *Rule, key []byte) (requests, leased int64) {
	sh := s.shardOf(key)
	sh.Lock()
	defer sh.Unlock()
	a := sh.accounts[countID{r.ID, string(key)}]
	if a == nil {
		return 0, 0
	}
	if s.leases() {
		leased = a.usable(s.options.Clock(now), true)
	}
	return a.inFlight, leased
}
