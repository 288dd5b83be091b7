package memstore

import (
	"cmp"
	"slices"
	"sync"
	"unsafe"
)

// A shard holds a part of a table's entries.
type shard struct {
	shardFields
	_ [shardSize - unsafe.Sizeof(shardFields{})%shardSize]byte
}

// shardSize is two cache lines, the unit that processors prefetch, so that shards do not slow each other down.
const shardSize = 128

type shardFields struct {
	rank uint64 // the order in which shards are locked; unique in a store

	mu sync.Mutex // guards what follows
	index
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
