package memstore

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/limiter/internal/baseline"
)

// BenchmarkTake compares the store with the least that any limiter must do.
//
//	go test -run '^$' -bench Take ./limiter/memstore
func BenchmarkTake(b *testing.B) {
	baseline.Compare(b, shardBits,
		memstoreOf("zones=1/algorithm=token_bucket", 1, limiter.TokenBucket),
		memstoreOf("zones=1/algorithm=fixed_window", 1, limiter.FixedWindow),
		memstoreOf("zones=1/algorithm=sliding_window", 1, limiter.SlidingWindow),
		memstoreOf("zones=1/algorithm=sliding_window_log", 1, limiter.SlidingWindowLog),
		memstoreOf("zones=3/algorithm=token_bucket", 3, limiter.TokenBucket),
	)
}

// memstoreOf returns a contender that takes each event from several zones at once, a microsecond
// after the last event. No take is denied, and no log grows long.
func memstoreOf(name string, zones int, kind limiter.Kind) baseline.Contender {
	return baseline.Contender{Name: "memstore/" + name, Open: func(b *testing.B, keys [][]byte) func() baseline.Counter {
		s := open(b)
		var rules []*limiter.Rule
		for z := range zones {
			window := time.Minute
			if kind == limiter.SlidingWindowLog {
				window = 100 * time.Millisecond
			}
			rules = append(rules, newRule(b, limiter.Rule{
				ID: uint32(z), Zone: s.Open(fmt.Sprint("zone", z)), Algorithm: limiter.Algorithm{Kind: kind},
				Limit: limiter.Limit{Events: limiter.MaxEvents, Window: window},
			}))
		}
		each := func() baseline.Counter {
			ctx, now := context.Background(), start
			takes := make([]limiter.Take, zones)
			return func(key []byte) (left int64) {
				now++
				for z := range takes {
					takes[z].Rule, takes[z].Key, takes[z].Cost = rules[z], key, 1
				}
				if err := s.Take(ctx, now, takes); err != nil {
					return -1
				}
				for z := range takes {
					if !takes[z].Decision.OK {
						return -1
					}
					left += takes[z].Decision.Remaining
				}
				return left
			}
		}
		warm := each()
		for _, key := range keys {
			warm(key)
		}
		return each
	}}
}
