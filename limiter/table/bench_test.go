package table

import (
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
)

// benchKeys is how many keys the benchmarks find, in random order.
const benchKeys = 100_000

// shardBits is the logarithm of how many tables, and maps, share the keys, each with a lock.
const shardBits = 8

// BenchmarkFind finds a key and counts: in tables as a store has them, and in maps. What the maps count in is one number,
// of which many share a cache line; an entry has six, as that of a token bucket.
//
//	go test -run '^$' -bench Find -cpu 1 ./limiter/table
func BenchmarkFind(b *testing.B) {
	keys := make([][]byte, benchKeys)
	for i := range keys {
		keys[i] = fmt.Appendf(nil, "sk_live_%08d", i)
	}
	seed := maphash.MakeSeed()
	for _, impl := range []struct {
		name string
		open func() (count func(key []byte) int64)
	}{
		{"map+atomic", func() func([]byte) int64 { return inMap(keys) }},
		{"shardedmap+atomic", func() func([]byte) int64 { return inMaps(keys, seed) }},
		{"table", func() func([]byte) int64 { return inTables(keys, seed) }},
	} {
		b.Run(fmt.Sprintf("impl=%s/keys=%d", impl.name, benchKeys), func(b *testing.B) {
			count := impl.open()
			order := rand.New(rand.NewPCG(1, 2)).Perm(benchKeys)
			b.ReportAllocs()
			for i := 0; b.Loop(); {
				if count(keys[order[i]]) <= 0 {
					b.Fatal("nothing was counted")
				}
				if i++; i == len(order) {
					i = 0
				}
			}
		})
	}
}

func inMap(keys [][]byte) func([]byte) int64 {
	var mu sync.RWMutex
	counts := make(map[string]*atomic.Int64)
	for _, key := range keys {
		counts[string(key)] = new(atomic.Int64)
	}
	return func(key []byte) int64 {
		mu.RLock()
		n := counts[string(key)]
		mu.RUnlock()
		return n.Add(1)
	}
}

func inMaps(keys [][]byte, seed maphash.Seed) func([]byte) int64 {
	var parts [1 << shardBits]struct {
		mu     sync.RWMutex
		counts map[string]*atomic.Int64
		_      [64]byte
	}
	for i := range parts {
		parts[i].counts = make(map[string]*atomic.Int64)
	}
	for _, key := range keys {
		parts[maphash.Bytes(seed, key)>>(64-shardBits)].counts[string(key)] = new(atomic.Int64)
	}
	return func(key []byte) int64 {
		p := &parts[maphash.Bytes(seed, key)>>(64-shardBits)]
		p.mu.RLock()
		n := p.counts[string(key)]
		p.mu.RUnlock()
		return n.Add(1)
	}
}

func inTables(keys [][]byte, seed maphash.Seed) func([]byte) int64 {
	var parts [1 << shardBits]struct {
		mu sync.Mutex
		Table[[2]int64]
		_ [64]byte
	}
	for _, key := range keys {
		k := Key{Hash: maphash.Bytes(seed, key), Form: 1, Numbers: 4, Text: key}
		parts[k.Hash>>(64-shardBits)].Insert(&k)
	}
	return func(key []byte) (n int64) {
		k := Key{Hash: maphash.Bytes(seed, key), Form: 1, Numbers: 4, Text: key}
		p := &parts[k.Hash>>(64-shardBits)]
		p.mu.Lock()
		e := p.Find(&k)
		e.Value()[0]++
		n = e.Value()[0]
		e.Numbers(4)[3]++
		p.mu.Unlock()
		return n
	}
}
