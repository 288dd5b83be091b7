package main

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fleetlimit/fleetlimit/bench/report"
	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/limiter/redisstore"
	"github.com/fleetlimit/fleetlimit/redisconn"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// weigh prints how much memory Redis needs for keys with several counts each, such as the counts of
// zones and endpoints.
func weigh(s *redistest.Server, o options) error {
	client := redisconn.New(redisconn.Options{Addresses: []string{s.Addr}, Timeout: 10 * time.Second})
	defer client.Close()
	fmt.Printf("### Memory of %d keys, token bucket\n\n", o.keys)
	report.Columns("counts of a key", "bytes of a key", "of a count", "scaled to 10 million counts")
	for _, counts := range []int{1, 3, 10} {
		bytes, err := weighKeys(s, redisstore.New(client, "rl"), o.keys, counts)
		if err != nil {
			return err
		}
		perKey := float64(bytes) / float64(o.keys)
		perCount := perKey / float64(counts)
		report.Row(counts, fmt.Sprintf("%.0f", perKey), fmt.Sprintf("%.1f", perCount), fmt.Sprintf("%.0f MB", perCount*10))
	}
	return nil
}

// weighKeys returns the memory, in bytes, of keys that have this many counts each. It leaves out the
// memory of an empty Redis.
func weighKeys(s *redistest.Server, store *redisstore.Store, keys, counts int) (bytes int64, err error) {
	ctx := context.Background()
	if err := s.Client().FlushAll(ctx).Err(); err != nil {
		return 0, err
	}
	before, err := usedMemory(ctx, s)
	if err != nil {
		return 0, err
	}
	if err := fill(ctx, store, keys, rules(counts)); err != nil {
		return 0, err
	}
	after, err := usedMemory(ctx, s)
	return after - before, err
}

// fill takes from each count of each key.
func fill(ctx context.Context, store *redisstore.Store, keys int, rules []*limiter.Rule) error {
	var (
		callers errgroup.Group
		next    atomic.Int64
	)
	for range 64 {
		callers.Go(func() error {
			takes := make([]limiter.Take, len(rules))
			for n := next.Add(1); n <= int64(keys); n = next.Add(1) {
				key := []byte("sk_live_" + strconv.FormatInt(n, 36))
				for i, r := range rules {
					takes[i] = limiter.Take{Rule: r, Key: key, Cost: 999} // a count of 999 events expires late in the window
				}
				if err := store.Take(ctx, 0, takes); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return callers.Wait()
}

// usedMemory returns the number of bytes that Redis has allocated.
func usedMemory(ctx context.Context, s *redistest.Server) (int64, error) {
	info, err := s.Client().InfoMap(ctx, "memory").Result()
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(info["Memory"]["used_memory"], 10, 64)
}
