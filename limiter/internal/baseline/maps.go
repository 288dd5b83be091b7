package baseline

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
	"testing"
)

// A counted is a map under one lock, which Counters lock for reading only.
type counted struct {
	mu     sync.RWMutex
	counts map[string]*atomic.Int64
	_      [64]byte // so that neighbours do not slow each other down
}

func (c *counted) add(key []byte) {
	if c.counts == nil {
		c.counts = make(map[string]*atomic.Int64)
	}
	c.counts[string(key)] = new(atomic.Int64)
}

func (c *counted) count(key []byte) int64 {
	c.mu.RLock()
	n := c.counts[string(key)]
	c.mu.RUnlock()
	return n.Add(1)
}

// openMap counts in one map.
func openMap(_ *testing.B, keys [][]byte) func() Counter {
	var all counted
	for _, key := range keys {
		all.add(key)
	}
	return func() Counter { return all.count }
}

// openMaps counts in 1<<bits maps, chosen by a hash of the key.
func openMaps(keys [][]byte, bits int) func() Counter {
	parts := make([]counted, 1<<bits)
	seed := maphash.MakeSeed()
	of := func(key []byte) *counted { return &parts[maphash.Bytes(seed, key)>>(64-bits)] }
	for _, key := range keys {
		of(key).add(key)
	}
	return func() Counter {
		return func(key []byte) int64 { return of(key).count(key) }
	}
}
