package topkeys

import (
	"hash/maphash"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// generationLasts is how long a generation lasts.
const generationLasts = 30 * time.Second

const (
	shardBits = 5
	shards    = 1 << shardBits
)

// A List counts takes by their keys, and finds the keys that were used most in the last 30 to 60
// seconds. It is safe for concurrent use. The zero value is an empty list. A list allocates its
// memory at the first take.
type List struct {
	began    time.Time // all takes since then were added; zero if that is longer ago than two generations
	sketches atomic.Pointer[sketches]
}

type sketches struct {
	sampler
	_      [64]byte // takes write to the sampler, and only read the fields below: another cache line
	seed   maphash.Seed
	shards [shards]shard
}

// A shard counts the keys whose hashes begin with the bits of its index.
type shard struct {
	mu     sync.Mutex
	sketch *sketch  // nil if the shard had no take yet
	_      [48]byte // keeps shards on cache lines of their own
}

// Add adds a take at now. It does not count a take whose shard is busy. If the key had another tier
// at its last counted take, Add returns that tier and true. It allocates only at the first take of
// a list and of a shard.
func (l *List) Add(now time.Time, t *Take) (before uint16, changed bool) {
	s := l.sketches.Load()
	if s == nil {
		s = l.begin()
	}
	second := now.Unix()
	weight := s.sample(second)
	if weight == 0 || len(t.Key) > maxKey || t.Cost <= 0 {
		return 0, false
	}
	hash := maphash.Bytes(s.seed, t.Key) ^ uint64(t.Rule)
	sh := &s.shards[hash>>(64-shardBits)]
	if !sh.mu.TryLock() {
		return 0, false
	}
	defer sh.mu.Unlock()
	if sh.sketch == nil {
		sh.sketch = new(sketch)
	}
	sh.sketch.advance(generationAt(now))
	return sh.sketch.add(uint32(hash), t, weight*uint64(t.Cost))
}

// Keys returns the keys that have a counter. A key may be there several times.
func (l *List) Keys() (keys []string) {
	l.each(func(s *sketch) {
		for i := range s.counters {
			if c := &s.counters[i]; c.length > 0 {
				keys = append(keys, string(c.key[:c.length]))
			}
		}
	})
	return keys
}

// each calls do with each sketch of the list. It holds the lock of the sketch during the call.
func (l *List) each(do func(*sketch)) {
	s := l.sketches.Load()
	if s == nil {
		return
	}
	for i := range s.shards {
		sh := &s.shards[i]
		sh.mu.Lock()
		if sh.sketch != nil {
			do(sh.sketch)
		}
		sh.mu.Unlock()
	}
}

// begin returns the sketches of l. It makes them if there are none.
func (l *List) begin() *sketches {
	l.sketches.CompareAndSwap(nil, newSketches(rand.Uint64()))
	return l.sketches.Load()
}

// newSketches returns empty sketches. start is the start of their sampler.
func newSketches(start uint64) *sketches {
	return &sketches{sampler: sampler{start: start}, seed: maphash.MakeSeed()}
}

func generationAt(t time.Time) int64 { return t.Unix() / int64(generationLasts/time.Second) }
