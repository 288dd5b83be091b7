package fleet

import (
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// A Redis is killed, hangs, or becomes slow. Its breaker opens. Then no request waits for it, also
// after a reload. When Redis is back, requests are counted again. The log has one line for each
// change.
func TestBreaker(t *testing.T) {
	const timeout = 300 * time.Millisecond
	for _, test := range []struct {
		name       string
		begin, end func(*redistest.Server, *slowProxy)
	}{
		{"killed", func(s *redistest.Server, _ *slowProxy) { s.Kill() }, func(s *redistest.Server, _ *slowProxy) { s.Restart() }},
		{"hangs", func(s *redistest.Server, _ *slowProxy) { s.Pause() }, func(s *redistest.Server, _ *slowProxy) { s.Resume() }},
		{"slow", func(_ *redistest.Server, p *slowProxy) { p.delay(timeout + timeout/2) }, func(_ *redistest.Server, p *slowProxy) { p.delay(0) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			redis := redistest.NewServer(t)
			proxy := newSlowProxy(t, redis.Addr)
			options := fmt.Sprintf("redis {\n\taddress %s\n\ttimeout %v\n}\nbreaker {\n\tprobe_every 200ms\n}", proxy.addr, timeout)
			n := start(t, options, userSite("100000/24h")+"\n\tmetrics /metrics")
			state := func() float64 {
				return n.metric(fmt.Sprintf("caddy_rate_limit_breaker_state{primary=%q,store=%q}", proxy.addr, "redis standalone "+proxy.addr))
			}
			request := func() (counted bool) { return !degraded(n.mustGet(200, "/", "X-Api-Key: a")) }
			n.await("decisions by Redis", request)
			// Each key is new, so that no lease or credit spares its request the wait.
			keys := 0
			longest := func(requests int) (longest time.Duration) {
				for range requests {
					keys++
					begin := time.Now()
					n.mustGet(200, "/", fmt.Sprint("X-Api-Key: ", keys))
					longest = max(longest, time.Since(begin))
				}
				return longest
			}

			began := time.Now()
			test.begin(redis, proxy)
			waited := time.Duration(0)
			n.await("an open breaker", func() bool {
				waited = max(waited, longest(1))
				return state() == 2
			})
			opened := time.Since(began)
			if most := timeout + timeout/2; waited > most {
				t.Errorf("a request waited %v before the breaker opened, want at most %v", waited, timeout)
			}
			open := longest(200)
			n.reload(options, userSite("200000/24h")+"\n\tmetrics /metrics")
			if s := state(); s != 2 {
				t.Errorf("after a reload, the state of the breaker is %v, want 2", s)
			}
			reloaded := longest(50)
			if most := timeout / 2; open > most || reloaded > most {
				t.Errorf("requests waited up to %v while the breaker was open, and %v after a reload; want less than %v", open, reloaded, most)
			}

			test.end(redis, proxy)
			ended := time.Now()
			n.await("a closed breaker", func() bool { return state() == 0 })
			closed := time.Since(ended)
			n.await("decisions by Redis", request)
			n.await("a line about that", func() bool { return strings.Contains(n.logged(), "a primary of Redis answers again") })
			for line, want := range map[string]int{"a primary of Redis fails": 1, "a primary of Redis answers again": 1} {
				if got := strings.Count(n.logged(), line); got != want {
					t.Errorf("%d lines with %q, want %d:\n%s", got, line, want, n.logged())
				}
			}
			t.Logf("opened after %v, closed after %v; longest request before it opened: %v; while open: %v; after a reload: %v",
				opened, closed, waited, open, reloaded)
		})
	}
}

// A slowProxy forwards connections to a server. It delays what the server sends.
type slowProxy struct {
	addr    string
	latency atomic.Int64
}

func newSlowProxy(t *testing.T, server string) *slowProxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	p := &slowProxy{addr: listener.Addr().String()}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go p.serve(conn, server)
		}
	}()
	return p
}

// delay sets by how much the proxy delays replies.
func (p *slowProxy) delay(d time.Duration) { p.latency.Store(int64(d)) }

// serve forwards conn until one of the two sides closes it. It closes conn at once if the server
// refuses the connection.
func (p *slowProxy) serve(conn net.Conn, server string) {
	defer func() { _ = conn.Close() }()
	upstream, err := net.Dial("tcp", server)
	if err != nil {
		return
	}
	defer func() { _ = upstream.Close() }()
	go func() {
		_, _ = io.Copy(upstream, conn)
		_ = upstream.Close()
	}()
	for buf := make([]byte, 64<<10); ; {
		size, err := upstream.Read(buf)
		if err != nil {
			return
		}
		<-time.After(time.Duration(p.latency.Load()))
		if _, err := conn.Write(buf[:size]); err != nil {
			return
		}
	}
}
