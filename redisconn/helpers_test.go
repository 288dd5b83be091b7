package redisconn

import (
	"math"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/test/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// count is a script whose effects can be counted: it returns how often it has run with ARGV[1].
var count = NewScript(`return redis.call('HINCRBY', KEYS[1], ARGV[1], 1)`)

// patience is how long tests wait for something that takes a moment.
const patience = 10 * time.Second

// slack is how much longer than a bare timer of the same length a caller may wait, on a busy
// machine with the race detector. It is far less than the second that a pipeline may be out.
// BenchmarkHang measures the real figure.
const slack = 200 * time.Millisecond

// staysClosed are options for tests of single failures. A breaker with them never opens because of
// failures that it counts.
var staysClosed = BreakerOptions{Failures: math.MaxInt}

// open returns a client that is closed with the test.
func open(t testing.TB, o Options) *Client {
	t.Helper()
	c := New(o)
	t.Cleanup(c.Close)
	return c
}

// until waits for done to report true.
func until(t testing.TB, what string, done func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		if now := <-tick.C; now.After(deadline) {
			t.Fatalf("%s has not happened within %v", what, patience)
		}
	}
}

// ready waits for c to reach the primary of key.
func ready(t testing.TB, c *Client, key string) {
	t.Helper()
	var call *Call
	until(t, "an answer to a call", func() bool {
		call = do(t, c, count, key, "ready")
		return call.Err == nil
	})
}

// settled waits until c has all connections to its only primary that are to stay open, and returns
// their number.
func settled(t testing.TB, c *Client) (connections int) {
	t.Helper()
	ready(t, c, "ready")
	q := c.table.Load().queues[0]
	until(t, "the last of the connections that stay open", func() bool {
		q.mu.Lock()
		defer q.mu.Unlock()
		connections = q.pool.linked
		return connections == q.pool.workers && connections >= q.pool.wanted()
	})
	return connections
}

// do runs a script.
func do(t testing.TB, c *Client, script *Script, key string, args ...any) *Call {
	t.Helper()
	call := &Call{Script: script, Keys: []string{key}, Args: args}
	c.Do(t.Context(), call)
	return call
}

// goroutines returns the stacks of the goroutines of this package, except those of tests. It returns ""
// as soon as there are none, and else the stacks that are left after patience.
func goroutines() string {
	deadline := time.Now().Add(patience)
	for {
		buf := make([]byte, 4<<20)
		buf = buf[:runtime.Stack(buf, true)]
		own := slices.DeleteFunc(strings.Split(string(buf), "\n\n"), func(stack string) bool {
			return !strings.Contains(stack, "fleetlimit/redisconn.") && !strings.Contains(stack, "pool.(*ConnPool)") ||
				strings.Contains(stack, "redisconn.Test")
		})
		if len(own) == 0 || time.Now().After(deadline) {
			return strings.Join(own, "\n\n")
		}
		<-time.After(time.Millisecond)
	}
}

// longestTimer runs timers of d, one after the other, until stop is called or the test ends. stop
// returns how long the longest timer took.
func longestTimer(t testing.TB, d time.Duration) (stop func() time.Duration) {
	var ended atomic.Bool
	result := make(chan time.Duration, 1)
	go func() {
		longest := time.Duration(0)
		for !ended.Load() && t.Context().Err() == nil {
			start := time.Now()
			<-time.After(d)
			longest = max(longest, time.Since(start))
		}
		result <- longest
	}()
	return func() time.Duration {
		ended.Store(true)
		return <-result
	}
}
