package redisstore

import (
	"hash/maphash"
	"sync/atomic"
)

// knownKeys tells keys that Redis has answered about lately, and so probably exist there, from
// those that a call may create. A key is evicted when another one needs its entry. It takes 256 kB,
// and is safe for concurrent use.
type knownKeys struct {
	seed maphash.Seed
	tags [1 << 16]atomic.Uint32 // 0: none
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
