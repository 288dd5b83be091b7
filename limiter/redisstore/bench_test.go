package redisstore

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// BenchmarkTake has many callers take one event of one of many keys.
func BenchmarkTake(b *testing.B) {
	s, r := New(connect(b, standalone(b)), "rl"), spacious(b)
	runOnKeys(b, func(key []byte) func() error {
		takes := []limiter.Take{{Rule: r, Key: key, Cost: 1}}
		return func() error { return s.Take(b.Context(), 0, takes) }
	})
}

// BenchmarkLend has many callers request one event and the lease of ten more. In the case
// "returns", each request also returns three.
func BenchmarkLend(b *testing.B) {
	for _, bench := range []struct {
		name     string
		returned int64
	}{{"new", 0}, {"returns", 3}} {
		b.Run(bench.name, func(b *testing.B) {
			s, r := New(connect(b, standalone(b)), "rl"), spacious(b)
			runOnKeys(b, func(key []byte) func() error {
				requests, answer := []limiter.LeaseRequest{{Rule: r, Key: key, Need: 1, Want: 10}}, make(chan error, 1)
				return func() error {
					requests[0].Returns[0].Events = limiter.Events{At: requests[0].Decision.At, N: bench.returned}
					requests[0].Seen = limiter.Events{At: requests[0].Decision.At, N: 10}
					s.Lend(requests, nil, func(err error) { answer <- err })
					return <-answer
				}
			})
		})
	}
}

// spacious returns a rule whose bucket is never empty.
func spacious(b *testing.B) *limiter.Rule {
	b.Helper()
	r, err := limiter.NewRule(limiter.Rule{
		ID: 1, Limit: limiter.Limit{Events: 1_000_000_000, Window: time.Minute},
	})
	if err != nil {
		b.Fatal(err)
	}
	return r
}

// runOnKeys has many callers run the functions that callOn makes for each of many keys. It reports
// how long each call kept Redis busy.
func runOnKeys(b *testing.B, callOn func(key []byte) func() error) {
	b.Helper()
	redis := redistest.Shared(b).Client()
	if err := redis.ConfigResetStat(b.Context()).Err(); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.SetParallelism(256)
	var callers atomic.Int64
	b.RunParallel(func(pb *testing.PB) {
		var calls []func() error
		caller := callers.Add(1)
		for n := 0; pb.Next(); n++ {
			if len(calls) < 1000 {
				calls = append(calls, callOn(fmt.Appendf(nil, "key-%d-%d", caller, n)))
			}
			if err := calls[n%1000](); err != nil {
				b.Error(err)
				return
			}
		}
	})
	var calls, us float64
	stat := redis.InfoMap(b.Context(), "commandstats").Item("Commandstats", "cmdstat_evalsha")
	if _, err := fmt.Sscanf(stat, "calls=%f,usec=%f", &calls, &us); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(us/calls, "µs-in-Redis/op")
}
