package memstore

import (
	"cmp"
	"slices"
	"sync"
	"unsafe"

	"github.com/fleetlimit/fleetlimit/internal/keyed"
	"github.com/fleetlimit/fleetlimit/limiter"
)

// A shard holds a part of a zone's entries.
type shard struct {
	shardFields
	_ [(shardSize - unsafe.Sizeof(shardFields{})%shardSize) % shardSize]byte
}

// shardSize is two cache lines, the unit that processors prefetch, so that shards do not slow each other down.
const shardSize = 128

type shardFields struct {
	rank uint64 // the order in which shards are locked; unique in a store

	mu      sync.Mutex // guards what follows
	entries keyed.Table[record, struct{}]
	counts  keyed.Spill[limiter.Count] // of the forms that are far
}

// find returns what is known of the key k.
func (s *shard) find(k *keyed.Key) countRef {
	e, _ := s.entries.Find(k)
	switch {
	case e == nil:
		return countRef{}
	case layout(k.Layout).far():
		return countRef{entry: e, far: s.counts.At(e.Numbers()[0])}
	}
	return countRef{entry: e, numbers: k.Numbers}
}

// insert adds an entry without consumption under the algorithm a for the key k, which must not have one yet. What was
// found before in s is to be found again.
func (s *shard) insert(k *keyed.Key, a limiter.Algorithm) *entry {
	e := s.entries.Insert(k)
	if layout(k.Layout).far() {
		e.Numbers()[0] = s.counts.Put(limiter.NewCount(a))
	}
	return e
}

// remove takes out e, which must be there. What was found before stays where it is.
func (s *shard) remove(e *entry) {
	if layout(e.Layout()).far() {
		s.counts.Drop(e.Numbers()[0])
	}
	s.entries.Remove(e)
}

// lockAll sorts shards by rank, locks each of them once, and returns those it locked.
func lockAll(shards []*shard) []*shard {
	slices.SortFunc(shards, func(a, b *shard) int { return cmp.Compare(a.rank, b.rank) })
	shards = slices.Compact(shards)
	for _, s := range shards {
		s.mu.Lock()
	}
	return shards
}

func unlockAll(shards []*shard) {
	for _, s := range shards {
		s.mu.Unlock()
	}
}
