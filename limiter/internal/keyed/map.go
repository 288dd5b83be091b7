// Package keyed keeps a little state for each of millions of keys, at the price of hardly more than
// its bytes. Both stores in this process build on it: the counts in memory and the accounts of
// leases.
//
// A [Map] is sharded: each shard has a lock and a [Table]. It is bounded: when it is full, a new
// key evicts the entry that costs least, among a sample. It is swept: idle entries are removed a
// few at a time, and their memory is freed.
//
// # Tables
//
// A table is an open-addressing hash table. An entry is one piece of memory with the key and all
// its numbers, so a look-up costs one cache miss: the tags that lead to the entry take a byte per
// key and stay in the processor's caches. Entries have no pointers, so the garbage collector skips
// them.
//
// Entries of one size are in one array, in groups of seven slots. The hash of a key names its home
// group. When that is full, the entry goes to the next group that is not, and the groups on the way
// count it as displaced. A search ends at the first group without displaced entries, so removing an
// entry leaves nothing behind. As groups are in the order of hashes, an array may have any length
// and grow by a tenth, and a walk may stop and go on although the array was resized.
//
// # Why not Go maps
//
// Because of memory: an account must fit in 200 bytes. A million keys of 16 bytes with what the
// stores keep of each, in 256 shards (go1.26, Xeon 2.8 GHz, one processor):
//
//	                      count: 56 bytes             account: 120 bytes
//	                      B/key  zipf ns  GC ms       B/key  zipf ns  GC ms
//	Table                   107      302      2         184      230      2
//	map of indices          180      333     82         240      288     57
//	map of values           217      557    157         334      393    138
//	map of pointers         164      264    372         228      318    385
//
//	go test -run '^$' -bench TableAgainstMaps -cpu 1 -benchtime 200ms ./limiter/internal/keyed
package keyed

import (
	"cmp"
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"
)

const (
	// sampleSize is how many evictable entries are compared to find the one to evict. In 19 of 20
	// cases, that one is among the sixth of the map that costs least.
	sampleSize = 16

	// searchSize is how many entries are looked at, evictable or not, before a search gives up.
	searchSize = 64

	// maxEvictions is how many entries one new key evicts when the bound was lowered.
	maxEvictions = 4

	// sweepSlots is how many slots are swept before the lock is released: some microseconds.
	sweepSlots = 512
)

// A Map has the entries of many keys. Use [New]. The type parameters are those of [Shard].
type Map[V, C, S any] struct {
	seed   maphash.Seed                     // secret: no client can choose keys that share a shard or a group
	shards atomic.Pointer[[]Shard[V, C, S]] // nil until the first use: many maps may have no keys
	shift  uint
	len    atomic.Int64 // Invariant: grows only below the bound of the key that is added
}

// A Shard has a part of a map's entries, with values V and cold values C. It also has an S, which
// is what else the user of the map keeps under the lock.
type Shard[V, C, S any] struct {
	rank uint64 // the order in which LockAll locks shards; unique in the process

	sync.Mutex // guards what follows
	Entries    Table[V, C]
	State      S

	_ [64]byte // keeps the locks of neighbours in different cache lines
}

// ranks is how many shards were ever made.
var ranks atomic.Uint64

// New returns a map with 1<<shardBits shards.
func New[V, C, S any](shardBits int) *Map[V, C, S] {
	return &Map[V, C, S]{seed: maphash.MakeSeed(), shift: 64 - uint(shardBits)}
}

// makeShards makes the shards, unless another goroutine makes them at the same time, and returns
// them.
func (m *Map[V, C, S]) makeShards() []Shard[V, C, S] {
	n := uint64(1) << (64 - m.shift)
	shards := make([]Shard[V, C, S], n)
	first := ranks.Add(n) - n
	for i := range shards {
		shards[i].rank = first + uint64(i)
	}
	m.shards.CompareAndSwap(nil, &shards)
	return *m.shards.Load()
}

// Shards returns the shards, or nil before a shard is used for the first time.
func (m *Map[V, C, S]) Shards() []Shard[V, C, S] {
	if shards := m.shards.Load(); shards != nil {
		return *shards
	}
	return nil
}

// Hash returns the [Key.Hash] of the key with this ID and text.
func (m *Map[V, C, S]) Hash(id uint32, text []byte) uint64 {
	return maphash.Bytes(m.seed, text) ^ uint64(id)*0x9E3779B97F4A7C15 // 2^64 over the golden ratio spreads small IDs
}

// Shard returns the shard of the keys with this hash. The upper bits of the hash choose it.
func (m *Map[V, C, S]) Shard(hash uint64) *Shard[V, C, S] {
	shards := m.Shards()
	if shards == nil {
		shards = m.makeShards()
	}
	return &shards[hash>>m.shift]
}

// Len returns the number of entries.
func (m *Map[V, C, S]) Len() int { return int(m.len.Load()) }

// AddLocked inserts an entry for k into its shard s, which is locked and has no entry for k yet. It
// returns nil if there are maxKeys entries and none can be evicted.
//
// cost returns what evicting an entry costs, or false when the entry must stay. evict is called
// with an entry that is about to be evicted, whose shard is locked.
func (m *Map[V, C, S]) AddLocked(
	s *Shard[V, C, S], k *Key, maxKeys int,
	cost func(*Shard[V, C, S], *Entry[V]) (int64, bool), evict func(*Shard[V, C, S], *Entry[V]),
) *Entry[V] {
	bound := int64(maxKeys)
	for n := m.len.Load(); n < bound; n = m.len.Load() {
		if m.len.CompareAndSwap(n, n+1) {
			return s.Entries.Insert(k)
		}
	}
	// The new entry takes the place of the first evicted entry. Only further evictions work off a
	// bound that was lowered.
	if !m.evictLocked(s, cost, evict) {
		return nil
	}
	for range maxEvictions - 1 {
		if m.len.Load() <= bound || !m.evictLocked(s, cost, evict) {
			break
		}
		m.len.Add(-1)
	}
	return s.Entries.Insert(k)
}

// evictLocked evicts the entry that costs least among a sample, and reports whether there was one.
// It leaves len as it is. It samples home, and then the next shards if home has too few evictable
// entries. It skips shards that others have locked, because waiting for them could be a deadlock.
func (m *Map[V, C, S]) evictLocked(
	home *Shard[V, C, S],
	cost func(*Shard[V, C, S], *Entry[V]) (int64, bool), evict func(*Shard[V, C, S], *Entry[V]),
) bool {
	var victim *Entry[V]
	holder, least := home, int64(0) // holder has the victim and is locked
	sampled, seen := 0, 0
	shards := m.Shards()
	for i := range uint64(len(shards)) {
		s := &shards[(home.rank-shards[0].rank+i)%uint64(len(shards))]
		if s != home && !s.TryLock() {
			continue
		}
		unneeded := s
		s.Entries.Sample(func(e *Entry[V]) (more bool) {
			seen++
			if c, ok := cost(s, e); ok {
				sampled++
				if victim == nil || c < least {
					victim, least = e, c
					if holder != s {
						holder, unneeded = s, holder
					}
				}
			}
			return sampled < sampleSize && seen < searchSize
		})
		if unneeded != home {
			unneeded.Unlock()
		}
		if sampled >= sampleSize || seen >= searchSize {
			break
		}
	}
	if victim != nil {
		evict(holder, victim)
		holder.Entries.Remove(victim)
	}
	if holder != home {
		holder.Unlock()
	}
	return victim != nil
}

// RemoveLocked removes e from its shard s, which is locked.
func (m *Map[V, C, S]) RemoveLocked(s *Shard[V, C, S], e *Entry[V]) {
	s.Entries.Remove(e)
	m.len.Add(-1)
}

// Sweep removes the entries that are idle from every parts-th shard, beginning with the shard part,
// and frees memory that is not needed any more. idle is called with the shard locked.
func (m *Map[V, C, S]) Sweep(part, parts int, idle func(*Shard[V, C, S], *Entry[V]) bool) {
	shards := m.Shards()
	for i := part; i < len(shards); i += parts {
		s := &shards[i]
		for c, more := new(Cursor), true; more; {
			s.Lock()
			more = s.Entries.Walk(c, sweepSlots, func(e *Entry[V]) {
				if idle(s, e) {
					m.RemoveLocked(s, e)
				}
			})
			if !more {
				s.Entries.Shrink()
			}
			s.Unlock()
		}
	}
}

// LockAll sorts shards by rank, locks each of them once, and returns those it locked.
func LockAll[V, C, S any](shards []*Shard[V, C, S]) []*Shard[V, C, S] {
	slices.SortFunc(shards, func(a, b *Shard[V, C, S]) int { return cmp.Compare(a.rank, b.rank) })
	shards = slices.Compact(shards)
	for _, s := range shards {
		s.Lock()
	}
	return shards
}

// UnlockAll unlocks the shards that LockAll returned.
func UnlockAll[V, C, S any](shards []*Shard[V, C, S]) {
	for _, s := range shards {
		s.Unlock()
	}
}
