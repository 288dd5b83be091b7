package integration

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// TestConcurrentEndsWithTheResponse has one request of a key in flight at a time, which ends in several ways.
// Another request is rejected meanwhile.
func TestConcurrentEndsWithTheResponse(t *testing.T) {
	began, release := make(chan struct{}), make(chan struct{})
	waits := func(r *http.Request) {
		began <- struct{}{}
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}
	addr := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/waits":
			waits(r)
		case "/streams":
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: 1\n\n")
			_ = http.NewResponseController(w).Flush()
			waits(r)
		case "/upgrades":
			conn, rw, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Errorf("hijacking the upstream's connection: %v", err)
				return
			}
			_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
			_, _ = io.Copy(conn, rw)
			_ = conn.Close()
		}
	})
	site := "rate_limit {\n zone z {\n key {header.X-Api-Key}\n concurrent 1\n }\n}\nreverse_proxy " + addr
	inEachStoreOf(t, site, func(t *testing.T, g *gateway) {
		inFlight := func() string {
			return fmt.Sprint(g.admin("POST", "/rate_limit/zones/z/inspect", `{"key": "k"}`).is(200).object()["concurrent"])
		}
		taken := func(way string, end func()) {
			t.Helper()
			if x := g.explain("GET", "/", []string{"X-Api-Key: k"}); x.Response.Status != 429 ||
				x.Handlers[0].Zones[0].Concurrent[0].Outcome != api.Rejected {
				t.Errorf("a request beside %s is explained as %+v, want 429", way, x)
			}
			g.get("/", "X-Api-Key: k").is(429).has("Retry-After", "1").has("RateLimit-Policy", `"z:concurrent";q=1;qu="concurrent-requests"`)
			g.get("/", "X-Api-Key: other").is(200)
			end()
			redistest.Eventually(t, "the end of a request by "+way, func() bool {
				found := inFlight()
				return found == "[map[in_flight:0 limit:1]]" || found == "[map[in_flight:0 leased:1 limit:1]]"
			})
			if x := g.explain("GET", "/", []string{"X-Api-Key: k"}); x.Handlers[0].Outcome != api.Admitted {
				t.Errorf("a request after %s is explained as %+v, want it admitted", way, x)
			}
			g.get("/", "X-Api-Key: k").is(200)
		}
		begin := func(path string) (leave func()) {
			t.Helper()
			ctx, cancel := context.WithCancel(t.Context())
			r, _ := http.NewRequestWithContext(ctx, "GET", "http://"+g.addr+path, nil)
			r.Header.Set("X-Api-Key", "k")
			done := make(chan struct{})
			go func() {
				defer close(done)
				if response, err := newClient().Do(r); err == nil {
					_, _ = io.Copy(io.Discard, response.Body)
					_ = response.Body.Close()
				}
			}()
			select {
			case <-began:
			case <-done:
				t.Fatalf("the request for %s has ended, want it in flight", path)
			}
			return func() { cancel(); <-done }
		}
		for _, path := range []string{"/waits", "/streams"} {
			leave := begin(path)
			taken(path+" when the client leaves", leave)
			leave = begin(path)
			taken(path+" when the upstream ends it", func() { release <- struct{}{} })
			leave()
		}

		conn, err := net.Dial("tcp", g.addr)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = fmt.Fprintf(conn, "GET /upgrades HTTP/1.1\r\nHost: %s\r\nX-Api-Key: k\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", g.addr)
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil || response.StatusCode != http.StatusSwitchingProtocols {
			t.Fatalf("upgrade = %v, %v, want 101", response, err)
		}
		taken("an upgraded connection", func() { _ = conn.Close() })
	})
}
