package redisstore

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// BenchmarkTake takes one event of one of many keys, with many callers at the same time.
func BenchmarkTake(b *testing.B) {
	s, r := New(connect(b, standalone(b)), "rl"), spacious(b)
	runOnKeys(b, func(key []byte) func() error {
		takes := []limiter.Take{{Rule: r, Key: key, Cost: 1}}
		return func() error { return s.Take(b.Context(), 0, takes) }
	})
}

// BenchmarkLend serves one event and lends ten, in the same way: to a node that has nothing to settle, and to one that gives
// three events back each time.
func BenchmarkLend(b *testing.B) {
	for _, bench := range []struct {
		name string
		back int64
	}{{"new", 0}, {"back", 3}} {
		b.Run(bench.name, func(b *testing.B) {
			s, r := New(connect(b, standalone(b)), "rl"), spacious(b)
			runOnKeys(b, func(key []byte) func() error {
				loans, answer := []limiter.LeaseRequest{{Rule: r, Key: key, Need: 1, Want: 10}}, make(chan error, 1)
				return func() error {
					loans[0].Returns[0] = limiter.Events{At: loans[0].Decision.At, N: bench.back}
					loans[0].Seen = limiter.Events{At: loans[0].Decision.At, N: 10}
					s.Lend(loans, func(err error) { answer <- err })
					return <-answer
				}
			})
		})
	}
}

// spacious returns a rule of a bucket that is never empty.
func spacious(b *testing.B) *limiter.Rule {
	b.Helper()
	r, err := limiter.NewRule(limiter.Rule{
		ID: 1, Limit: limiter.Limit{Events: 1_000_000_000, Window: time.Minute}, MaxOvershoot: 0.05,
	})
	if err != nil {
		b.Fatal(err)
	}
	return r
}

// runOnKeys has many callers at the same time call what callOn makes for each of many keys, and reports for how long Redis was
// busy with it.
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
