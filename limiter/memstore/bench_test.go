package memstore

import (
	"context"
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// benchKeys is how many warm keys the benchmarks take from, in random order, so that no take finds its key in the
// processor's first caches by luck.
const benchKeys = 100_000

// A contender takes one event of a key at now and reports whether that is allowed. It is made for one goroutine.
type contender func(now limiter.Instant, key []byte) bool

// BenchmarkTake compares the store with the least that any limiter must do: to find a key's counter in a map that is
// safe for concurrent use, and to add to it.
//
//	go test -run '^$' -bench Take ./limiter/memstore
func BenchmarkTake(b *testing.B) {
	keys := make([][]byte, benchKeys)
	for i := range keys {
		keys[i] = fmt.Appendf(nil, "sk_live_%08d", i)
	}
	for _, impl := range []struct {
		name string
		open func(b *testing.B) (each func() contender)
	}{
		{"map+atomic", func(*testing.B) func() contender { return openPlainMap(keys) }},
		{"shardedmap+atomic", func(*testing.B) func() contender { return openShardedMap(keys) }},
		{"memstore/zones=1/algorithm=token_bucket", memstoreOf(keys, 1, limiter.TokenBucket)},
		{"memstore/zones=1/algorithm=fixed_window", memstoreOf(keys, 1, limiter.FixedWindow)},
		{"memstore/zones=1/algorithm=sliding_window", memstoreOf(keys, 1, limiter.SlidingWindow)},
		{"memstore/zones=1/algorithm=sliding_window_log", memstoreOf(keys, 1, limiter.SlidingWindowLog)},
		{"memstore/zones=3/algorithm=token_bucket", memstoreOf(keys, 3, limiter.TokenBucket)},
	} {
		b.Run(fmt.Sprintf("impl=%s/keys=%d", impl.name, benchKeys), func(b *testing.B) {
			each := impl.open(b)
			order := shuffled(keys)
			b.Run("serial", func(b *testing.B) {
				b.ReportAllocs()
				take, now := each(), start
				for i := 0; b.Loop(); i++ {
					now++
					take(now, order[i%len(order)])
				}
			})
			b.Run("parallel", func(b *testing.B) {
				b.ReportAllocs()
				var goroutines atomic.Int64
				b.RunParallel(func(pb *testing.PB) {
					take, now := each(), start
					for i := int(goroutines.Add(1)) * 12345; pb.Next(); i++ {
						now++
						take(now, order[i%len(order)])
					}
				})
			})
		})
	}
}

// shuffled returns keys in a random order, copied one behind the other: to read the next one costs as little as to read it out of a
// request that has just arrived.
func shuffled(keys [][]byte) [][]byte {
	var room []byte
	for _, key := range keys {
		room = append(room, key...)
	}
	order := make([][]byte, 0, len(keys))
	next := 0
	for _, i := range rand.New(rand.NewPCG(1, 2)).Perm(len(keys)) {
		n := copy(room[next:], keys[i])
		order = append(order, room[next:next+n:next+n])
		next += n
	}
	return order
}

// memstoreOf takes each event from so many zones at once. No take is denied, and no log grows long.
func memstoreOf(keys [][]byte, zones int, kind limiter.Kind) func(b *testing.B) func() contender {
	return func(b *testing.B) func() contender {
		s := open(b)
		var rules []*limiter.Rule
		for z := range zones {
			name := fmt.Sprint("zone", z)
			s.Open(name)
			window := time.Minute
			if kind == limiter.SlidingWindowLog {
				window = 100 * time.Millisecond
			}
			rules = append(rules, newRule(b, limiter.Rule{
				ID: uint32(z), Zone: name, Algorithm: limiter.Algorithm{Kind: kind},
				Limit: limiter.Limit{Events: limiter.MaxEvents, Window: window},
			}))
		}
		each := func() contender {
			ctx := context.Background()
			takes := make([]limiter.Take, zones)
			return func(now limiter.Instant, key []byte) bool {
				ok := true
				for z := range takes {
					takes[z].Rule, takes[z].Key, takes[z].Cost = rules[z], key, 1
				}
				_ = s.Take(ctx, now, takes)
				for z := range takes {
					ok = ok && takes[z].Decision.OK
				}
				return ok
			}
		}
		warm := each()
		for _, key := range keys {
			warm(start, key)
		}
		return each
	}
}

// openPlainMap counts in one map under one lock for reading.
func openPlainMap(keys [][]byte) func() contender {
	var mu sync.RWMutex
	counts := make(map[string]*atomic.Int64)
	for _, key := range keys {
		counts[string(key)] = new(atomic.Int64)
	}
	return func() contender {
		return func(_ limiter.Instant, key []byte) bool {
			mu.RLock()
			n := counts[string(key)]
			mu.RUnlock()
			return n.Add(1) > 0
		}
	}
}

// openShardedMap counts in as many maps as a zone of the store has shards, chosen by a hash of the key.
func openShardedMap(keys [][]byte) func() contender {
	type part struct {
		mu     sync.RWMutex
		counts map[string]*atomic.Int64
		_      [64]byte
	}
	var parts [1 << shardBits]part
	seed := maphash.MakeSeed()
	of := func(key []byte) *part { return &parts[maphash.Bytes(seed, key)>>(64-shardBits)] }
	for i := range parts {
		parts[i].counts = make(map[string]*atomic.Int64)
	}
	for _, key := range keys {
		of(key).counts[string(key)] = new(atomic.Int64)
	}
	return func() contender {
		return func(_ limiter.Instant, key []byte) bool {
			p := of(key)
			p.mu.RLock()
			n := p.counts[string(key)]
			p.mu.RUnlock()
			return n.Add(1) > 0
		}
	}
}
