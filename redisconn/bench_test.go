package redisconn

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	redis "github.com/redis/go-redis/v9"

	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// BenchmarkCalls measures calls of Do by 512 goroutines, the same script over a plain go-redis client,
// and calls of Start, 512 at a time.
//
//	go test -run '^$' -bench Calls ./redisconn
func BenchmarkCalls(b *testing.B) {
	const goroutines = 512
	s := redistest.Shared(b)
	const source = `return redis.call('INCRBY', KEYS[1], ARGV[1])`
	script := NewScript(source)
	keys := make([][]string, 10_000)
	for i := range keys {
		keys[i] = []string{"key" + strconv.Itoa(i)}
	}
	b.Run("impl=plain", func(b *testing.B) {
		plain := redis.NewClient(&redis.Options{Addr: s.Addr, Protocol: 2, PoolSize: 64, MaxRetries: -1})
		defer plain.Close()
		plain.ScriptLoad(b.Context(), source)
		spread(b, goroutines, func(ctx context.Context, i int) error {
			return plain.EvalSha(ctx, script.digest, keys[i%len(keys)], 1).Err()
		})
	})
	for _, size := range []int{1, 2, 4, 8} {
		b.Run(fmt.Sprintf("impl=redisconn/connections=%d", size), func(b *testing.B) {
			c := open(b, Options{Addresses: []string{s.Addr}, PoolSize: size, Timeout: patience})
			spread(b, goroutines, func(ctx context.Context, i int) error {
				call := Call{Script: script, Keys: keys[i%len(keys)], Args: []any{1}}
				c.Do(ctx, &call)
				return call.Err
			})
		})
	}
	b.Run("impl=started", func(b *testing.B) {
		c := open(b, Options{Addresses: []string{s.Addr}, Timeout: patience})
		b.ReportAllocs()
		b.ResetTimer()
		out := make(chan struct{}, goroutines)
		for i := range b.N {
			out <- struct{}{}
			call := &Call{Script: script, Keys: keys[i%len(keys)], Args: []any{1}}
			c.Start(call, func() {
				if call.Err != nil {
					b.Error(call.Err)
				}
				<-out
			})
		}
		for range goroutines { // all are done
			out <- struct{}{}
		}
	})
}

// BenchmarkSlowReplies makes 300 calls per second. Their replies are late by 40 ms, and the timeout is
// 50 ms, the default. It measures after a second in which connections are made. It reports how many
// calls had no answer in time, and the times from the call to the write.
//
//	go test -run '^$' -bench SlowReplies -benchtime 1200x ./redisconn
func BenchmarkSlowReplies(b *testing.B) {
	p := redistest.NewProxy(b, redistest.Shared(b).Addr)
	c := open(b, Options{Addresses: []string{p.Addr}})
	ready(b, c, "k")
	p.Delay(40 * time.Millisecond)
	key := freshKeys(b)
	arrive(b, c, 300, 300, key)
	b.ResetTimer()
	a := arrive(b, c, 300, b.N, func(i int) string { return key(300 + i) })
	b.ReportMetric(float64(b.N-len(a.writes)), "late")
	b.ReportMetric(percentile(a.writes, 50).Seconds()*1000, "write-p50-ms")
	b.ReportMetric(percentile(a.writes, 99).Seconds()*1000, "write-p99-ms")
	b.ReportMetric(percentile(a.total, 99).Seconds()*1000, "total-p99-ms")
}

// spread runs call b.N times in total, by the given number of goroutines.
func spread(b *testing.B, goroutines int, call func(ctx context.Context, i int) error) {
	b.ReportAllocs()
	b.ResetTimer()
	var next atomic.Int64
	var all sync.WaitGroup
	for range goroutines {
		all.Go(func() {
			for i := int(next.Add(1)); i <= b.N; i = int(next.Add(1)) {
				if err := call(b.Context(), i); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
}
