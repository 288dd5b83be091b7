package main

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/limiter/redisstore"
	"github.com/fleetlimit/fleetlimit/test/redistest"
	"github.com/fleetlimit/fleetlimit/transport"
)

// counts is how many counts, such as those of endpoints, each key has.
const counts = 10

// weigh prints how much memory Redis takes for so many keys with ten counts each.
func weigh(s *redistest.Server, o options) error {
	ctx := context.Background()
	client := transport.New(transport.Options{Addresses: []string{s.Addr}, Timeout: 10 * time.Second})
	defer client.Close()
	if err := s.Client().FlushAll(ctx).Err(); err != nil {
		return err
	}
	before, err := usedMemory(ctx, s)
	if err != nil {
		return err
	}
	if err := fill(ctx, redisstore.New(client, "rl"), o.keys); err != nil {
		return err
	}
	after, err := usedMemory(ctx, s)
	if err != nil {
		return err
	}
	perCount := float64(after-before) / float64(o.keys*counts)
	fmt.Printf("### Memory of %d keys with %d counts each, token bucket\n\n", o.keys, counts)
	fmt.Printf("| what | bytes |\n|---|---|\n| used_memory, more than of an empty Redis | %d |\n| per count | %.1f |\n"+
		"| scaled to 10 million counts | %.0f MB |\n", after-before, perCount, perCount*10_000_000/1e6)
	return nil
}

// fill takes one event of each count of each key.
func fill(ctx context.Context, store *redisstore.Store, keys int) error {
	rules := rules(counts)
	var (
		wg     sync.WaitGroup
		next   atomic.Int64
		failed atomic.Pointer[error]
	)
	for range 64 {
		wg.Go(func() {
			takes := make([]limiter.Take, counts)
			for n := next.Add(1); n <= int64(keys); n = next.Add(1) {
				key := []byte("sk_live_" + strconv.FormatInt(n, 36))
				for i, r := range rules {
					takes[i] = limiter.Take{Rule: r, Key: key, Cost: 999} // stays for most of the window
				}
				if err := store.Take(ctx, 0, takes); err != nil {
					failed.Store(&err)
					return
				}
			}
		})
	}
	wg.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}

// usedMemory returns what Redis says it has allocated, in bytes.
func usedMemory(ctx context.Context, s *redistest.Server) (int64, error) {
	info, err := s.Client().InfoMap(ctx, "memory").Result()
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(info["Memory"]["used_memory"], 10, 64)
}
