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

// A List has the keys of takes, and finds those that were used most lately. It is safe for
// concurrent use. The zero value is an empty list, which has no memory of its own until the first
// take.
type List struct {
	began    time.Time // the list has all takes since; zero if it is older than a generation
	sketches atomic.Pointer[sketches]
}

type sketches struct {
	sampler
	_      [64]byte // takes write the sampler, and only read what follows
	seed   maphash.Seed
	shards [shards]shard
}

// A shard has the keys with some of the hashes.
type shard struct {
	mu     sync.Mutex
	sketch *sketch  // nil if there was no take yet
	_      [48]byte // shards share no cache line
}

// Add adds a take at now. It does not allocate once the shard of the key is in use. A take whose
// shard is busy is not counted. If the key was counted before with another tier, Add returns that.
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

// Keys returns the keys that have a counter, as far as they have been used. A key may be there
// several times.
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

// each calls do with each sketch of the list, whose lock is held meanwhile.
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

// begin returns the sketches of a list that had none.
func (l *List) begin() *sketches {
	l.sketches.CompareAndSwap(nil, newSketches(rand.Uint64()))
	return l.sketches.Load()
}

// newSketches returns sketches whose sampler has this start.
func newSketches(start uint64) *sketches {
	return &sketches{sampler: sampler{start: start}, seed: maphash.MakeSeed()}
}

func generationAt(t time.Time) int64 { return t.Unix() / int64(generationLasts/time.Second) }
