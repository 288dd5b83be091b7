package table

import (
	"hash/maphash"
	"sync"
	"testing"

	"github.com/fleetlimit/fleetlimit/limiter/internal/baseline"
)

// shardBits is the logarithm of how many tables, and maps, share the keys, each with a lock.
const shardBits = 8

// BenchmarkFind finds a key and counts: in tables as a store has them, and in maps. What the maps count in is one number,
// of which many share a cache line; an entry has six, as that of a token bucket.
//
//	go test -run '^$' -bench Find -cpu 1 ./limiter/table
func BenchmarkFind(b *testing.B) {
	baseline.Compare(b, shardBits, baseline.Contender{Name: "table", Open: openTables})
}

func openTables(_ *testing.B, keys [][]byte) func() baseline.Counter {
	var parts [1 << shardBits]struct {
		mu sync.Mutex
		Table[[2]int64, struct{}]
		_ [64]byte
	}
	seed := maphash.MakeSeed()
	for _, key := range keys {
		k := Key{Hash: maphash.Bytes(seed, key), Form: 1, Numbers: 4, Text: key}
		parts[k.Hash>>(64-shardBits)].Insert(&k)
	}
	count := func(key []byte) int64 {
		k := Key{Hash: maphash.Bytes(seed, key), Form: 1, Numbers: 4, Text: key}
		p := &parts[k.Hash>>(64-shardBits)]
		p.mu.Lock()
		e, _ := p.Find(&k)
		e.Value()[0]++
		n := e.Value()[0]
		e.Numbers(4)[3]++
		p.mu.Unlock()
		return n
	}
	return func() baseline.Counter { return count }
}
