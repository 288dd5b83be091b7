// Package bench compares the speed of the counts in memory, and of the leases of a node, with that of
// other limiters, and with the least that any limiter can cost. It is a module of its own, so users of
// the plugin do not download the other limiters.
//
// All implementations take from equal keys in equal orders. In the order uniform, all keys are equally
// frequent. In the order zipf, few keys make most requests, as clients do. No order is the one in which
// the keys were first used, so the memory is as cold in the caches of the processor as with real
// clients.
//
// For each take, each implementation reads the clock that it needs, as a server must. go-limiter and
// leases read the monotonic clock, and the others read both clocks. The cost of reading the clocks is
// also measured alone. Limits are out of reach, so all takes are admitted.
package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sethvargo/go-limiter/memorystore"
	"golang.org/x/time/rate"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/limiter/lease"
	"github.com/fleetlimit/fleetlimit/limiter/memstore"
)

const (
	keys   = 100_000
	events = 1_000_000_000 // per minute and key
)

// An impl is one way to count. open returns a function that each goroutine calls once. That function
// returns a function that takes one event of key, and reports whether it was admitted.
type impl struct {
	name string
	open func(b *testing.B) func() (take func(key string) bool)
}

var impls = []impl{
	{"clock", openClock},
	{"clocks", openClocks},
	{"map+atomic", openMap},
	{"fleetlimit", openFleetlimit(limiter.TokenBucket)},
	{"fleetlimit-fixed_window", openFleetlimit(limiter.FixedWindow)},
	{"fleetlimit-sliding_window", openFleetlimit(limiter.SlidingWindow)},
	{"leases", openLeases(limiter.TokenBucket)},
	{"leases-fixed_window", openLeases(limiter.FixedWindow)},
	{"leases-sliding_window", openLeases(limiter.SlidingWindow)},
	{"sethvargo-go-limiter", openGoLimiter},
	{"x-time-rate", openTimeRate},
}

func BenchmarkTake(b *testing.B) {
	known := allKeys()
	orders := []struct {
		name string
		keys []string
	}{{"uniform", uniform(known)}, {"zipf", zipf(known)}}

	for _, im := range impls {
		open := im.open(b)
		for _, k := range known {
			if !open()(k) {
				b.Fatalf("%s: the first take of %s was denied", im.name, k)
			}
		}
		for _, order := range orders {
			name := fmt.Sprintf("impl=%s/keys=%d/order=%s", im.name, keys, order.name)
			b.Run(name+"/mode=serial", func(b *testing.B) { serial(b, open(), order.keys) })
			b.Run(name+"/mode=parallel", func(b *testing.B) { parallel(b, open, order.keys) })
		}
	}
}

func serial(b *testing.B, take func(string) bool, order []string) {
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		if !take(order[i]) {
			b.Fatalf("a take of %s was denied", order[i])
		}
		if i++; i == len(order) {
			i = 0
		}
	}
}

func parallel(b *testing.B, open func() func(string) bool, order []string) {
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		take, i := open(), rand.IntN(len(order))
		for pb.Next() {
			if !take(order[i]) {
				b.Errorf("a take of %s was denied", order[i])
				return
			}
			if i++; i == len(order) {
				i = 0
			}
		}
	})
}

// uniform returns every key once, in random order. uniform and zipf copy the keys, so that reading the
// next key is as cheap as reading it from a request that has just arrived.
func uniform(known []string) []string {
	order := make([]string, len(known))
	for i, n := range rand.New(rand.NewPCG(1, 2)).Perm(len(known)) {
		order[i] = strings.Clone(known[n])
	}
	return order
}

// zipf returns keys whose frequency falls with the power 1.1 of their rank.
func zipf(known []string) []string {
	r := rand.New(rand.NewPCG(3, 4))
	ranked := uniform(known) // ranks do not depend on the place in memory
	z := rand.NewZipf(r, 1.1, 1, uint64(len(known)-1))
	order := make([]string, 4*len(known))
	for i := range order {
		order[i] = strings.Clone(ranked[z.Uint64()])
	}
	return order
}

func allKeys() []string {
	all := make([]string, keys)
	for i := range all {
		all[i] = fmt.Sprintf("sk_live_%024d", i)
	}
	return all
}

var begun = time.Now()

// openClock only reads the monotonic clock.
func openClock(*testing.B) func() func(string) bool {
	return func() func(string) bool {
		return func(string) bool { return time.Since(begun) > 0 }
	}
}

// openClocks only reads both clocks.
func openClocks(*testing.B) func() func(string) bool {
	return func() func(string) bool {
		return func(string) bool { return time.Now().UnixMicro() > 0 }
	}
}

// openMap does the least that a limiter can do: it finds the counter of the key in a map that never
// changes, reads the monotonic clock, and adds one. It limits nothing.
func openMap(*testing.B) func() func(string) bool {
	counts := make(map[string]*atomic.Int64, keys)
	for _, k := range allKeys() {
		counts[k] = new(atomic.Int64)
	}
	return func() func(string) bool {
		return func(key string) bool {
			return counts[key].Add(1) < int64(time.Since(begun))
		}
	}
}

func openFleetlimit(kind limiter.Kind) func(*testing.B) func() func(string) bool {
	return func(b *testing.B) func() func(string) bool {
		store := memstore.New(memstore.Options{})
		b.Cleanup(store.Close)
		return takeFrom(store, newRule(b, store.Open("bench"), kind), func() limiter.Instant { return limiter.At(time.Now()) })
	}
}

// openLeases decides by leases, as a node of a fleet does most of the time.
func openLeases(kind limiter.Kind) func(*testing.B) func() func(string) bool {
	return func(b *testing.B) func() func(string) bool {
		store := lease.New(plenty{}, lease.Options{})
		b.Cleanup(store.Close)
		return takeFrom(store, newRule(b, store.Open("bench"), kind), store.Now)
	}
}

// plenty is a lender that grants more events than a benchmark spends, for longer than the benchmark
// runs.
type plenty struct{ limiter.Lender }

func (plenty) Refusal([]byte) error { return nil }

func (plenty) Lend(requests []limiter.LeaseRequest, _ func(), answered func(error)) {
	now := limiter.At(time.Now())
	for i := range requests {
		l := &requests[i]
		l.Served, l.Granted, l.Expires = l.Need, events/4, now+limiter.Instant(time.Hour/time.Microsecond)
		l.Decision = limiter.Decision{OK: true, At: now, Limit: events, Remaining: events / 2, RetryAt: now, ResetAt: now}
	}
	answered(nil)
}

func newRule(b *testing.B, zone limiter.Counts, kind limiter.Kind) *limiter.Rule {
	rule, err := limiter.NewRule(limiter.Rule{
		ID:        1,
		Zone:      zone,
		Algorithm: limiter.Algorithm{Kind: kind},
		Limit:     limiter.Limit{Events: events, Window: time.Minute},
	})
	if err != nil {
		b.Fatal(err)
	}
	return rule
}

// takeFrom returns functions that take from a store, at the instants that now returns.
func takeFrom(store limiter.Store, rule *limiter.Rule, now func() limiter.Instant) func() func(string) bool {
	ctx := context.Background()
	return func() func(string) bool {
		takes := []limiter.Take{{Rule: rule, Cost: 1, Key: make([]byte, 0, 64)}}
		return func(key string) bool {
			takes[0].Key = append(takes[0].Key[:0], key...)
			err := store.Take(ctx, now(), takes)
			return err == nil && takes[0].Decision.OK
		}
	}
}

func openGoLimiter(b *testing.B) func() func(string) bool {
	store, err := memorystore.New(&memorystore.Config{Tokens: events, Interval: time.Minute, InitialAlloc: keys})
	if err != nil {
		b.Fatal(err)
	}
	ctx := context.Background()
	b.Cleanup(func() { _ = store.Close(ctx) })
	return func() func(string) bool {
		return func(key string) bool {
			_, _, _, ok, err := store.Take(ctx, key)
			return err == nil && ok
		}
	}
}

// openTimeRate keeps one x/time/rate.Limiter per key, in a map with a read-write lock. The package has
// no keys of its own, so this is how servers use it. It never evicts a key.
func openTimeRate(*testing.B) func() func(string) bool {
	var mu sync.RWMutex
	limiters := make(map[string]*rate.Limiter, keys)
	return func() func(string) bool {
		return func(key string) bool {
			mu.RLock()
			l := limiters[key]
			mu.RUnlock()
			if l == nil {
				l = rate.NewLimiter(rate.Limit(float64(events)/60), events)
				mu.Lock()
				limiters[key] = l
				mu.Unlock()
			}
			return l.Allow()
		}
	}
}
