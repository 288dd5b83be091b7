package fleet

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// TestOverloadIsNoOutage has thousands of connections hammer one key of a limit of 20 on a Redis that answers: Caddy has so much to
// do that requests wait for longer than their timeout, and the limit holds.
func TestOverloadIsNoOutage(t *testing.T) {
	for _, mode := range []string{"strict", "lease"} {
		for _, connections := range []int{1000, 3000} {
			t.Run(fmt.Sprintf("%s/%d connections", mode, connections), func(t *testing.T) {
				redis := redistest.NewServer(t)
				n := start(t, "redis {\n\taddress "+redis.Addr+"\n}"+inMode(mode), userSite("20/24h"))
				n.await("decisions by Redis", func() bool { return !degraded(n.mustGet(200, "/", "X-Api-Key: another")) })
				begin := time.Now()
				load := n.overload(connections, 4, "X-Api-Key: hot")
				t.Logf("%v: %+v", time.Since(begin).Round(time.Millisecond), load)
				if load.degraded > 0 {
					t.Errorf("degraded = %d, want none, as Redis answers", load.degraded)
				}
				if load.admitted != 20 {
					t.Errorf("admitted = %d, want 20", load.admitted)
				}
				known := n.metric(`caddy_rate_limit_decisions_total{outcome="rejected",source="known_state",zone="user"}`)
				t.Logf("rejected by what is known = %v", known)
			})
		}
	}
}

// What came of a load.
type load struct{ admitted, rejected, degraded, failed int64 }

// overload opens so many connections and sends so many requests on each, all of them at the same time.
func (n *node) overload(connections, requests int, header string) load {
	n.t.Helper()
	conns := make([]net.Conn, connections)
	for i := range conns {
		conn, err := net.Dial("tcp", n.addr)
		if err != nil {
			n.t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		_ = conn.SetDeadline(time.Now().Add(30 * time.Second))
		conns[i] = conn
	}
	var (
		wg     sync.WaitGroup
		counts [4]atomic.Int64
	)
	for _, conn := range conns {
		wg.Go(func() {
			replies := bufio.NewReader(conn)
			for range requests {
				_, _ = fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: %s\r\n%s\r\n\r\n", n.addr, header)
				resp, err := http.ReadResponse(replies, nil)
				if err != nil {
					counts[3].Add(1)
					return
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				switch {
				case resp.StatusCode == http.StatusTooManyRequests:
					counts[1].Add(1)
				case resp.StatusCode != http.StatusOK:
					counts[3].Add(1)
				case degraded(resp.Header):
					counts[2].Add(1)
				default:
					counts[0].Add(1)
				}
			}
		})
	}
	wg.Wait()
	return load{counts[0].Load(), counts[1].Load(), counts[2].Load(), counts[3].Load()}
}
