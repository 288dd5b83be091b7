package redisstore

import (
	"hash/maphash"
	"sync/atomic"
)

// knownKeys remembers the keys about which Redis has answered lately. They probably exist in Redis,
// and a call may create any other key. A key is evicted when another key needs its entry. knownKeys
// takes 256 kB, and is safe for concurrent use.
type knownKeys struct {
	seed maphash.Seed
	tags [1 << 16]atomic.Uint32 // 0 if the entry has no key
}

func newKnownKeys() *knownKeys { return &knownKeys{seed: maphash.MakeSeed()} }

// entry returns the entry of key, and its tag.
func (k *knownKeys) entry(key []byte) (entry *atomic.Uint32, tag uint32) {
	h := maphash.Bytes(k.seed, key)
	return &k.tags[h%uint64(len(k.tags))], uint32(h>>32) | 1
}

func (k *knownKeys) add(key []byte) {
	entry, tag := k.entry(key)
	entry.Store(tag)
}

func (k *knownKeys) has(key []byte) bool {
	entry, tag := k.entry(key)
	return entry.Load() == tag
}
