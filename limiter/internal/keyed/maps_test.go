package keyed

import (
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"
)

// BenchmarkTableAgainstMaps compares tables with Go maps of the same content: a million keys of 16
// bytes and what the stores keep of each. It reports the bytes per key, how long a garbage
// collection takes, and how long it takes to find a key and to count.
//
//	go test -run '^$' -bench TableAgainstMaps -cpu 1 -benchtime 500ms ./limiter/internal/keyed
func BenchmarkTableAgainstMaps(b *testing.B) {
	compare[[7]int64, struct{}](b, "count")   // a token bucket and when it was used
	compare[[8]int64, [7]int64](b, "account") // its hot and its cold half
}

const (
	keyCount  = 1_000_000
	shardBits = 8 // the logarithm of how many tables or maps share the keys
)

func compare[T, C any](b *testing.B, content string) {
	type both struct {
		hot T
		_   C
	}
	type shardOf[M any] struct {
		mu sync.Mutex
		m  M
		_  [64]byte
	}
	seed := maphash.MakeSeed()
	hash := func(key []byte) uint64 { return maphash.Bytes(seed, key) }
	const shift = 64 - shardBits
	for _, c := range []struct {
		impl string
		open func() (add, take func(key []byte))
	}{
		{"table", func() (add, take func([]byte)) {
			shards := make([]shardOf[Table[T, C]], 1<<shardBits)
			add = func(key []byte) {
				k := Key{Hash: hash(key), Text: key}
				shards[k.Hash>>shift].m.Insert(&k)
			}
			take = func(key []byte) {
				k := Key{Hash: hash(key), Text: key}
				s := &shards[k.Hash>>shift]
				s.mu.Lock()
				e, _ := s.m.Find(&k)
				bump(e.Value())
				s.mu.Unlock()
			}
			return add, take
		}},
		{"map_of_values", func() (add, take func([]byte)) {
			shards := make([]shardOf[map[mapKey]both], 1<<shardBits)
			add = func(key []byte) {
				s := &shards[hash(key)>>shift]
				if s.m == nil {
					s.m = make(map[mapKey]both)
				}
				s.m[mapKey{text: string(key)}] = both{}
			}
			take = func(key []byte) {
				s := &shards[hash(key)>>shift]
				s.mu.Lock()
				v := s.m[mapKey{text: string(key)}]
				bump(&v.hot)
				s.m[mapKey{text: string(key)}] = v
				s.mu.Unlock()
			}
			return add, take
		}},
		{"map_of_pointers", func() (add, take func([]byte)) {
			shards := make([]shardOf[map[mapKey]*both], 1<<shardBits)
			add = func(key []byte) {
				s := &shards[hash(key)>>shift]
				if s.m == nil {
					s.m = make(map[mapKey]*both)
				}
				s.m[mapKey{text: string(key)}] = new(both)
			}
			take = func(key []byte) {
				s := &shards[hash(key)>>shift]
				s.mu.Lock()
				bump(&s.m[mapKey{text: string(key)}].hot)
				s.mu.Unlock()
			}
			return add, take
		}},
		{"map_of_indices", func() (add, take func([]byte)) {
			type indexed struct {
				index map[mapKey]uint32
				all   []both
			}
			shards := make([]shardOf[indexed], 1<<shardBits)
			add = func(key []byte) {
				s := &shards[hash(key)>>shift]
				if s.m.index == nil {
					s.m.index = make(map[mapKey]uint32)
				}
				s.m.index[mapKey{text: string(key)}] = uint32(len(s.m.all))
				s.m.all = append(s.m.all, both{})
			}
			take = func(key []byte) {
				s := &shards[hash(key)>>shift]
				s.mu.Lock()
				bump(&s.m.all[s.m.index[mapKey{text: string(key)}]].hot)
				s.mu.Unlock()
			}
			return add, take
		}},
	} {
		b.Run(fmt.Sprintf("content=%s/impl=%s", content, c.impl), func(b *testing.B) {
			before := heap()
			add, take := c.open()
			key := make([]byte, 16)
			for i := range uint64(keyCount) {
				binary.BigEndian.PutUint64(key, i)
				add(key)
			}
			perKey := float64(heap()-before) / keyCount
			began := time.Now()
			runtime.GC()
			collect := time.Since(began)
			rng := rand.New(rand.NewPCG(1, 2))
			zipf := rand.NewZipf(rng, 1.1, 1, keyCount-1)
			for order, next := range map[string]func() uint64{
				"random": func() uint64 { return rng.Uint64N(keyCount) },
				"zipf":   zipf.Uint64,
			} {
				b.Run("order="+order, func(b *testing.B) {
					orders := make([]uint64, 1<<16)
					for i := range orders {
						orders[i] = next()
					}
					for i := 0; b.Loop(); i++ {
						binary.BigEndian.PutUint64(key, orders[i%len(orders)])
						take(key)
					}
					b.ReportMetric(perKey, "B/key")
					b.ReportMetric(float64(collect.Microseconds())/1000, "ms/GC")
				})
			}
			runtime.KeepAlive(take)
		})
	}
}

// bump writes to a value, as a take does.
func bump[T any](v *T) {
	switch v := any(v).(type) {
	case *[7]int64:
		v[0]++
	case *[8]int64:
		v[0]++
	}
}
