package redisstore

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// BenchmarkTake takes one event of one of many keys, with many callers at the same time.
func BenchmarkTake(b *testing.B) {
	s := New(connect(b, standalone(b)), "rl")
	r := mustRule(b, 1, limiter.Algorithm{}, limiter.Limit{Events: 1000, Window: time.Minute})
	b.ReportAllocs()
	b.SetParallelism(256)
	var callers atomic.Int64
	b.RunParallel(func(pb *testing.PB) {
		takes := []limiter.Take{{Rule: r, Cost: 1}}
		caller := callers.Add(1)
		for n := 0; pb.Next(); n++ {
			takes[0].Key = fmt.Appendf(takes[0].Key[:0], "key-%d-%d", caller, n%1000)
			if err := s.Take(b.Context(), 0, takes); err != nil {
				b.Error(err)
				return
			}
		}
	})
}
