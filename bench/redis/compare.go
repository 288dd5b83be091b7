package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	redisrate "github.com/go-redis/redis_rate/v10"
	redis "github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/fleetlimit/fleetlimit/bench/report"
	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/limiter/redisstore"
	"github.com/fleetlimit/fleetlimit/redisconn"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// A variant decides in Redis whether requests are within their limits.
type variant struct {
	name  string
	take  func(ctx context.Context, key string) error
	rates report.Series // decisions per second, by round

	oneCall bool // each request must make one script call
}

func (v *variant) String() string { return v.name }

// compare measures variants in turns, in short rounds. It prints their rates, and the ratios to the
// rate of the first variant in the same round.
func compare(s *redistest.Server, o options) error {
	client := redisconn.New(redisconn.Options{Addresses: []string{s.Addr}, Timeout: 10 * time.Second})
	defer client.Close()
	store := redisstore.New(client, "rl")
	pool := redis.NewClient(&redis.Options{Addr: s.Addr, PoolSize: o.callers})
	defer pool.Close()

	variants := []*variant{
		{name: "redis_rate", take: takeRedisRate(redisrate.NewLimiter(pool))},
		{name: "fleetlimit, one zone", take: takeStore(store, 1)},
		{name: "fleetlimit, three zones of one key", take: takeStore(store, 3), oneCall: true},
	}
	if err := report.Turns(o.rounds, variants, func(v *variant) error { return v.measure(s, o) }); err != nil {
		return err
	}
	fmt.Printf("### Decisions by one Redis, %d callers, distinct keys\n\n", o.callers)
	report.Columns("variant", "decisions/s", "ratio (least to greatest)")
	for _, v := range variants {
		report.Row(v.name, fmt.Sprintf("%.0f", v.rates.Median()), v.rates.Over(variants[0].rates).Spread("%.2f", ""))
	}
	fmt.Printf("\nEvery request of three zones was one script call.\n\n")
	return nil
}

// measure makes requests for one round, and adds their rate to v.rates.
func (v *variant) measure(s *redistest.Server, o options) error {
	before, err := scriptCalls(s)
	if err != nil {
		return err
	}
	var (
		requests atomic.Int64
		callers  errgroup.Group
		ctx      = context.Background()
		start    = time.Now()
	)
	for caller := range o.callers {
		callers.Go(func() error {
			for n := int64(0); ; n++ {
				if time.Since(start) >= o.round {
					requests.Add(n)
					return nil
				}
				if err := v.take(ctx, fmt.Sprintf("key-%d-%d-%d", len(v.rates), caller, n%1000)); err != nil {
					return err
				}
			}
		})
	}
	if err := callers.Wait(); err != nil {
		return err
	}
	v.rates = append(v.rates, float64(requests.Load())/time.Since(start).Seconds())
	after, err := scriptCalls(s)
	if err == nil && v.oneCall && after-before != requests.Load() {
		err = fmt.Errorf("%d script calls for %d requests", after-before, requests.Load())
	}
	return err
}

func takeRedisRate(l *redisrate.Limiter) func(context.Context, string) error {
	return func(ctx context.Context, key string) error {
		_, err := l.Allow(ctx, key, redisrate.PerMinute(1000))
		return err
	}
}

// takeStore returns a function that takes one event from each of several zones with one key.
func takeStore(s *redisstore.Store, zones int) func(context.Context, string) error {
	rules := rules(zones)
	return func(ctx context.Context, key string) error {
		takes := make([]limiter.Take, len(rules))
		for i, r := range rules {
			takes[i] = limiter.Take{Rule: r, Key: []byte(key), Cost: 1}
		}
		return s.Take(ctx, 0, takes)
	}
}

// rules returns n rules. Each has another count.
func rules(n int) []*limiter.Rule {
	var all []*limiter.Rule
	for id := range uint32(n) {
		r, err := limiter.NewRule(limiter.Rule{
			ID: 0x9E3779B9 * (id + 1), Limit: limiter.Limit{Events: 1000, Window: time.Minute},
		})
		if err != nil {
			panic(err)
		}
		all = append(all, r)
	}
	return all
}

// scriptCalls returns the number of scripts that Redis has run. Calls of unknown scripts do not count.
func scriptCalls(s *redistest.Server) (int64, error) {
	stats, err := s.Client().InfoMap(context.Background(), "commandstats").Result()
	if err != nil {
		return 0, err
	}
	for name, value := range stats["Commandstats"] {
		if name == "cmdstat_evalsha" {
			var calls, usec, rejected, failed int64
			var perCall float64
			_, err := fmt.Sscanf(value, "calls=%d,usec=%d,usec_per_call=%f,rejected_calls=%d,failed_calls=%d",
				&calls, &usec, &perCall, &rejected, &failed)
			return calls - rejected - failed, err
		}
	}
	return 0, nil
}
