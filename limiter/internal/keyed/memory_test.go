package keyed

import (
	"encoding/binary"
	"math/rand/v2"
	"runtime"
	"testing"
)

// TestMemoryPerEntry fills tables to sizes that are close to each other, as shards do. On average
// an entry takes at most a third more than its bytes.
func TestMemoryPerEntry(t *testing.T) {
	const tables, entries = 64, 4000
	for _, tt := range []struct {
		name  string
		bytes int // bytes of an entry and its cold value
		fill  func(hash uint64, key []byte, i int)
		drop  func()
	}{
		filler[[2]int64, struct{}]("16 bytes and 4 numbers", 80, 4),
		filler[[14]int64, struct{}]("112 bytes", 144, 0),
		filler[[8]int64, [7]int64]("64 bytes and 56 cold", 152, 0),
	} {
		t.Run(tt.name, func(t *testing.T) {
			rng, key := rand.New(rand.NewPCG(1, 2)), make([]byte, 16)
			before := heap()
			n := 0
			for i := range tables {
				for range entries/2 + i*entries/2/tables {
					binary.BigEndian.PutUint64(key, rng.Uint64())
					tt.fill(rng.Uint64(), key, i)
					n++
				}
			}
			got := float64(heap()-before) / float64(n)
			tt.drop()
			t.Logf("%.1f bytes for each of %d entries of %d", got, n, tt.bytes)
			if want := float64(tt.bytes) * 4 / 3; got > want {
				t.Errorf("%.1f bytes per entry of %d, want at most %.1f", got, tt.bytes, want)
			}
		})
	}
}

// filler returns a case of TestMemoryPerEntry, with this many numbers and a key of 16 bytes.
func filler[T, C any](name string, bytes, numbers int) (tt struct {
	name  string
	bytes int
	fill  func(hash uint64, key []byte, i int)
	drop  func()
}) {
	tables := make([]Table[T, C], 64)
	tt.name, tt.bytes = name, bytes
	tt.fill = func(hash uint64, key []byte, i int) {
		tables[i].Insert(&Key{Hash: hash, Numbers: numbers, Text: key})
	}
	tt.drop = func() { clear(tables) }
	return tt
}

// heap returns the bytes in use after a garbage collection.
func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // the second sweeps what the first found unused
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
