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

// counts is the number of counts per key, such as those of endpoints.
const counts = 10

// weigh prints how much memory Redis needs for keys with ten counts each.
func weigh(s *redistest.Server, o options) error {
	ctx := context.Background()
	client := redisconn.New(redisconn.Options{Addresses: []string{s.Addr}, Timeout: 10 * time.Second})
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
	report.Columns("what", "bytes")
	report.Row("used_memory above that of an empty Redis", after-before)
	report.Row("per count", fmt.Sprintf("%.1f", perCount))
	report.Row("scaled to 10 million counts", fmt.Sprintf("%.0f MB", perCount*10))
	return nil
}

// fill takes one event of each count of each key.
func fill(ctx context.Context, store *redisstore.Store, keys int) error {
	rules := rules(counts)
	var (
		callers errgroup.Group
		next    atomic.Int64
	)
	for range 64 {
		callers.Go(func() error {
			takes := make([]limiter.Take, counts)
			for n := next.Add(1); n <= int64(keys); n = next.Add(1) {
				key := []byte("sk_live_" + strconv.FormatInt(n, 36))
				for i, r := range rules {
					takes[i] = limiter.Take{Rule: r, Key: key, Cost: 999} // expires late in the window
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

// usedMemory returns how many bytes Redis has allocated.
func usedMemory(ctx context.Context, s *redistest.Server) (int64, error) {
	info, err := s.Client().InfoMap(ctx, "memory").Result()
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(info["Memory"]["used_memory"], 10, 64)
}
