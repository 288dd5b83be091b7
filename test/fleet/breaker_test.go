package fleet

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/test/nodetest"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// A Redis is killed, hangs, or becomes slow, and its breaker opens. Then no request waits for it, even after
// a reload. When Redis is back, requests are counted again. The log has one line for each change.
func TestBreaker(t *testing.T) {
	const timeout = 300 * time.Millisecond
	for _, test := range []struct {
		name       string
		begin, end func(*redistest.Server, *redistest.Proxy)
	}{
		{"killed", func(s *redistest.Server, _ *redistest.Proxy) { s.Kill() }, func(s *redistest.Server, _ *redistest.Proxy) { s.Restart() }},
		{"hangs", func(s *redistest.Server, _ *redistest.Proxy) { s.Pause() }, func(s *redistest.Server, _ *redistest.Proxy) { s.Resume() }},
		{"slow", func(_ *redistest.Server, p *redistest.Proxy) { p.Delay(timeout + timeout/2) }, func(_ *redistest.Server, p *redistest.Proxy) { p.Delay(0) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			redis := redistest.NewServer(t)
			proxy := redistest.NewProxy(t, redis.Addr)
			options := nodetest.InRedis(proxy.Addr, fmt.Sprint("timeout ", timeout)) + "\nbreaker {\n\tprobe_every 200ms\n}"
			n := nodetest.Start(t, options, nodetest.UserSite("100000/24h")+"\n\tmetrics /metrics")
			state := func() float64 {
				return n.Metric(fmt.Sprintf("caddy_rate_limit_breaker_state{primary=%q,store=%q}", proxy.Addr, "redis standalone "+proxy.Addr))
			}
			request := func() (counted bool) { return !degraded(n.MustGet(200, "/", "X-Api-Key: a")) }
			n.Await("decisions by Redis", request)
			// Each key is new, so that no lease spares its request the wait.
			keys := 0
			longest := func(requests int) (longest time.Duration) {
				for range requests {
					keys++
					begin := time.Now()
					n.MustGet(200, "/", fmt.Sprint("X-Api-Key: ", keys))
					longest = max(longest, time.Since(begin))
				}
				return longest
			}

			began := time.Now()
			test.begin(redis, proxy)
			waited := time.Duration(0)
			n.Await("an open breaker", func() bool {
				waited = max(waited, longest(1))
				return state() == 2
			})
			opened := time.Since(began)
			// On a busy machine, the gateway waits longer by as much as the gateway itself is late, and by
			// one timeout at most.
			if most := 2*timeout + timeout/2; waited > most {
				t.Errorf("a request waited %v before the breaker opened, want at most %v", waited, most)
			}
			open := longest(200)
			n.Reload(options, nodetest.UserSite("200000/24h")+"\n\tmetrics /metrics")
			if s := state(); s != 2 {
				t.Errorf("after a reload, the state of the breaker is %v, want 2", s)
			}
			reloaded := longest(50)
			if most := timeout / 2; open > most || reloaded > most {
				t.Errorf("requests waited up to %v while the breaker was open, and %v after a reload; want less than %v", open, reloaded, most)
			}

			test.end(redis, proxy)
			ended := time.Now()
			n.Await("a closed breaker", func() bool { return state() == 0 })
			closed := time.Since(ended)
			n.Await("decisions by Redis", request)
			n.Await("a line about that", func() bool { return strings.Contains(n.Logged(), "a primary of Redis answers again") })
			for line, want := range map[string]int{"a primary of Redis fails": 1, "a primary of Redis answers again": 1} {
				if got := strings.Count(n.Logged(), line); got != want {
					t.Errorf("%d lines with %q, want %d:\n%s", got, line, want, n.Logged())
				}
			}
			t.Logf("opened after %v, closed after %v; longest request before it opened: %v; while open: %v; after a reload: %v",
				opened, closed, waited, open, reloaded)
		})
	}
}
