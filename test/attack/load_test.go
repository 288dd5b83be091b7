package attack

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// outcomes count the requests of a load by outcome. A degraded request was admitted without being
// counted. A failed one has no response, or a status other than 200 and 429.
type outcomes struct{ admitted, rejected, degraded, failed int }

// hammer opens connections and sends requests on all of them at the same time. write returns request n of a
// connection.
func (g *gateway) hammer(t *testing.T, connections, requests int, write func(conn, n int) request) (total outcomes) {
	t.Helper()
	return g.hammerFrom(t, "127.0.0.1", connections, requests, write)
}

// hammerFrom does what hammer does, from an address.
func (g *gateway) hammerFrom(
	t *testing.T, address string, connections, requests int, write func(conn, n int) request,
) (total outcomes) {
	t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	conns := make([]net.Conn, connections)
	for i := range conns {
		conn, err := dialer.DialContext(t.Context(), "tcp", g.plain)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		_ = conn.SetDeadline(time.Now().Add(3 * patience))
		conns[i] = conn
	}
	var (
		wg sync.WaitGroup
		mu sync.Mutex
	)
	for i, conn := range conns {
		wg.Go(func() {
			part := exchange(conn, requests, func(n int) request { return write(i, n) })
			mu.Lock()
			defer mu.Unlock()
			total.admitted += part.admitted
			total.rejected += part.rejected
			total.degraded += part.degraded
			total.failed += part.failed
		})
	}
	wg.Wait()
	return total
}

// exchange sends requests on a connection, one after the other.
func exchange(conn net.Conn, requests int, write func(n int) request) (sum outcomes) {
	replies := bufio.NewReader(conn)
	for n := range requests {
		_, _ = io.WriteString(conn, write(n).text())
		resp, err := http.ReadResponse(replies, nil)
		if err != nil {
			sum.failed += requests - n
			return sum
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		switch {
		case resp.StatusCode == http.StatusTooManyRequests:
			sum.rejected++
		case resp.StatusCode != http.StatusOK:
			sum.failed++
		case resp.Header.Get("X-RateLimit-Policy") == "degraded":
			sum.degraded++
		default:
			sum.admitted++
		}
	}
	return sum
}

// one sends one request with these header fields.
func (g *gateway) one(t *testing.T, header ...field) outcomes {
	t.Helper()
	return g.hammer(t, 1, 1, func(int, int) request { return get("/", header...) })
}

// onRedis returns the global options of a gateway that counts in Redis. The zones decide in mode.
func onRedis(mode, topology string, timeout time.Duration, addrs ...string) string {
	return fmt.Sprintf("rate_limit {\n\tredis %s {\n\t\taddress %s\n\t\ttimeout %v\n\t}\n\tdefaults {\n\t\tmode %s\n\t}\n}",
		topology, strings.Join(addrs, " "), timeout, mode)
}
