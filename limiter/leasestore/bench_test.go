package leasestore

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

// benchStart is the instant at which the benchmarks begin.
const benchStart limiter.Instant = 1_767_225_600_000_000

// A contender takes one event of a key at now and reports whether that is allowed. It is made for one goroutine.
type contender func(now limiter.Instant, key []byte) bool

// BenchmarkTake compares what accounts decide with the least that any limiter must do: to find a key's counter in a map that is
// safe for concurrent use, and to add to it.
//
//	go test -run '^$' -bench Take ./limiter/leasestore
func BenchmarkTake(b *testing.B) {
	keys := make([][]byte, benchKeys)
	for i := range keys {
		keys[i] = fmt.Appendf(nil, "sk_live_%08d", i)
	}
	order := shuffled(keys)
	for _, impl := range []struct {
		name string
		open func(b *testing.B) (each func() contender)
	}{
		{"map+atomic", func(*testing.B) func() contender { return openPlainMap(keys) }},
		{"shardedmap+atomic", func(*testing.B) func() contender { return openShardedMap(keys) }},
		{"leasestore/zones=1/algorithm=token_bucket", leasestoreOf(keys, 1, limiter.TokenBucket, limiter.FromLease)},
		{"leasestore/zones=1/algorithm=sliding_window_log", leasestoreOf(keys, 1, limiter.SlidingWindowLog, limiter.FromLease)},
		{"leasestore/zones=1/algorithm=sliding_window", leasestoreOf(keys, 1, limiter.SlidingWindow, limiter.FromLease)},
		{"leasestore/zones=1/algorithm=fixed_window", leasestoreOf(keys, 1, limiter.FixedWindow, limiter.FromLease)},
		{"leasestore/zones=1/denied", leasestoreOf(keys, 1, limiter.TokenBucket, limiter.FromMemory)},
		{"leasestore/zones=3/algorithm=token_bucket", leasestoreOf(keys, 3, limiter.TokenBucket, limiter.FromLease)},
	} {
		b.Run(fmt.Sprintf("impl=%s/keys=%d", impl.name, benchKeys), func(b *testing.B) {
			each := impl.open(b)
			b.Run("serial", func(b *testing.B) {
				b.ReportAllocs()
				take, now := each(), benchStart
				for i := 0; b.Loop(); i++ {
					now += limiter.Instant(i & 1) // two million takes a second
					if !take(now, order[i%len(order)]) {
						b.Fatalf("take of %s is not what it should be", order[i%len(order)])
					}
				}
			})
			b.Run("parallel", func(b *testing.B) {
				b.ReportAllocs()
				var goroutines atomic.Int64
				b.RunParallel(func(pb *testing.PB) {
					take, now := each(), benchStart
					for i := int(goroutines.Add(1)) * 12345; pb.Next(); i++ {
						now += limiter.Instant(i & 1)
						if !take(now, order[i%len(order)]) {
							b.Errorf("take of %s is not what it should be", order[i%len(order)])
							return
						}
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

// leasestoreOf takes each event from so many zones at once, whose accounts answer from this source.
func leasestoreOf(keys [][]byte, zones int, kind limiter.Kind, from limiter.Source) func(b *testing.B) func() contender {
	return func(b *testing.B) func() contender {
		lender := &plentyLender{deny: from == limiter.FromMemory}
		s := New(lender, Options{Clock: func() limiter.Instant { return benchStart }})
		b.Cleanup(s.Close)
		var rules []*limiter.Rule
		for z := range zones {
			name := fmt.Sprint("zone", z)
			s.Open(name)
			r, err := limiter.NewRule(limiter.Rule{
				ID: uint32(z), Zone: name, Algorithm: limiter.Algorithm{Kind: kind}, MaxOvershoot: 1,
				Limit: limiter.Limit{Events: 1_000_000, Window: time.Hour},
			})
			if err != nil {
				b.Fatal(err)
			}
			rules = append(rules, r)
		}
		each := func() contender {
			ctx := context.Background()
			takes := make([]limiter.Take, zones)
			return func(now limiter.Instant, key []byte) bool {
				for z := range takes {
					takes[z].Rule, takes[z].Key, takes[z].Cost = rules[z], key, 1
				}
				if err := s.Take(ctx, now, takes); err != nil {
					return false
				}
				ok := true
				for z := range takes {
					ok = ok && takes[z].Decision.Source == from
				}
				return ok
			}
		}
		warm := each()
		for _, key := range keys {
			warm(benchStart, key) // asks, and gets one lot
		}
		for _, key := range keys {
			if !warm(benchStart, key) {
				b.Fatalf("%s is not known after it was asked for", key)
			}
		}
		return each
	}
}

// A plentyLender lends more than a benchmark spends, until its end, or denies everything. It answers at once.
type plentyLender struct {
	limiter.Lender
	deny bool
}

func (p *plentyLender) Lend(loans []limiter.Loan, answered func(error)) {
	const at, lasts = limiter.Instant(1_000_000_000_000), 1_000_000_000
	for i := range loans {
		l := &loans[i]
		l.Run = 1
		l.Decision = limiter.Decision{OK: !p.deny, At: at, Limit: l.Rule.Capacity(), RetryAt: at, ResetAt: at}
		if p.deny {
			l.Decision.RetryAt = at + lasts
			continue
		}
		l.Decision.Remaining = l.Rule.Capacity() / 2
		l.Served, l.Lent, l.Ends = l.Need, l.Rule.Capacity()/4, at+lasts
	}
	answered(nil)
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

// openShardedMap counts in as many maps as a book has shards, chosen by a hash of the key.
func openShardedMap(keys [][]byte) func() contender {
	type part struct {
		mu     sync.RWMutex
		counts map[string]*atomic.Int64
		_      [64]byte
	}
	var parts [1 << shardBits]part
	seed := maphash.MakeSeed()
	for i := range parts {
		parts[i].counts = make(map[string]*atomic.Int64)
	}
	for _, key := range keys {
		parts[maphash.Bytes(seed, key)>>(64-shardBits)].counts[string(key)] = new(atomic.Int64)
	}
	return func() contender {
		return func(_ limiter.Instant, key []byte) bool {
			p := &parts[maphash.Bytes(seed, key)>>(64-shardBits)]
			p.mu.RLock()
			n := p.counts[string(key)]
			p.mu.RUnlock()
			return n.Add(1) > 0
		}
	}
}
