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
	"github.com/fleetlimit/fleetlimit/test/redistest"
	"github.com/fleetlimit/fleetlimit/transport"
)

// A variant is a way to decide in Redis whether a request is within its limits.
type variant struct {
	name  string
	take  func(ctx context.Context, key string) error
	rates report.Series // decisions per second, by round
}

// compare has variants take turns in short rounds and prints their rates, with the ratios to the
// first within a round.
func compare(s *redistest.Server, o options) error {
	client := transport.New(transport.Options{Addresses: []string{s.Addr}, Timeout: 10 * time.Second})
	defer client.Close()
	store := redisstore.New(client, "rl")
	pool := redis.NewClient(&redis.Options{Addr: s.Addr, PoolSize: o.callers})
	defer pool.Close()

	variants := []*variant{
		{name: "redis_rate", take: takeRedisRate(redisrate.NewLimiter(pool))},
		{name: "fleetlimit, one zone", take: takeStore(store, 1)},
		{name: "fleetlimit, three zones of one key", take: takeStore(store, 3)},
	}
	var scripts int64
	for round := range o.rounds {
		for turn := range variants {
			v := variants[(round+turn)%len(variants)]
			before, err := scriptCalls(s)
			if err != nil {
				return err
			}
			rate, requests, err := v.measure(o, round)
			if err != nil {
				return fmt.Errorf("%s: %w", v.name, err)
			}
			v.rates = append(v.rates, rate)
			after, err := scriptCalls(s)
			if err != nil {
				return err
			}
			if v == variants[2] {
				if scripts = after - before; scripts != requests {
					return fmt.Errorf("%s: %d script calls for %d requests", v.name, scripts, requests)
				}
			}
		}
	}
	fmt.Printf("### Decisions by one Redis, %d callers, distinct keys\n\n", o.callers)
	report.Columns("variant", "decisions/s", "ratio (least to greatest)")
	for _, v := range variants {
		report.Row(v.name, fmt.Sprintf("%.0f", v.rates.Median()), v.rates.Over(variants[0].rates).Spread("%.2f", ""))
	}
	fmt.Printf("\nEvery request of three zones was one script call.\n\n")
	return nil
}

// measure makes requests for a round's time. It returns the requests per second, and how many there
// were.
func (v *variant) measure(o options, round int) (rate float64, requests int64, err error) {
	var (
		total   atomic.Int64
		callers errgroup.Group
		ctx     = context.Background()
		start   = time.Now()
	)
	for caller := range o.callers {
		callers.Go(func() error {
			for n := int64(0); ; n++ {
				if time.Since(start) >= o.round {
					total.Add(n)
					return nil
				}
				if err := v.take(ctx, fmt.Sprintf("key-%d-%d-%d", round, caller, n%1000)); err != nil {
					return err
				}
			}
		})
	}
	err = callers.Wait()
	return float64(total.Load()) / time.Since(start).Seconds(), total.Load(), err
}

func takeRedisRate(l *redisrate.Limiter) func(context.Context, string) error {
	return func(ctx context.Context, key string) error {
		_, err := l.Allow(ctx, key, redisrate.PerMinute(1000))
		return err
	}
}

// takeStore takes one event in each of several zones that count by the same key.
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

// rules returns n rules, each with a count of its own.
func rules(n int) []*limiter.Rule {
	var all []*limiter.Rule
	for id := range uint32(n) {
		r, err := limiter.NewRule(limiter.Rule{
			ID: 0x9E3779B9 * (id + 1), Zone: "zone", Limit: limiter.Limit{Events: 1000, Window: time.Minute},
		})
		if err != nil {
			panic(err)
		}
		all = append(all, r)
	}
	return all
}

// scriptCalls returns how many scripts Redis has run, without calls of scripts that it did not
// know.
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
