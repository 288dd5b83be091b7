package redisstore

import (
	"hash/maphash"
	"sync/atomic"
)

// knownKeys is how many keys are known at most.
const knownKeys = 1 << 16

// A known tells keys that Redis has answered about lately, and so probably exist there, from those
// that a call may create. It forgets a key when another one needs its place, and takes 256 kB. It
// is safe for concurrent use.
type known struct {
	seed maphash.Seed
	tags [knownKeys]atomic.Uint32 // 0: none
}

func newKnown() *known { return &known{seed: maphash.MakeSeed()} }

// place returns where the tag of key belongs, and the tag.
func (k *known) place(key []byte) (place *atomic.Uint32, tag uint32) {
	h := maphash.Bytes(k.seed, key)
	return &k.tags[h%knownKeys], uint32(h>>32) | 1
}

func (k *known) add(key []byte) {
	if place, tag := k.place(key); place.Load() != tag {
		place.Store(tag)
	}
}

func (k *known) has(key []byte) bool {
	place, tag := k.place(key)
	return place.Load() == tag
}
