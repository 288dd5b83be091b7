package attack

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"testing"
	"time"
)

// upgrading is an upstream that switches protocols whenever it is asked to, and then takes requests in the
// connection, as servers of h2c do.
func upgrading(u *upstream) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		u.ServeHTTP(w, r)
		if r.Header.Get("Upgrade") == "" {
			return
		}
		conn, from, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err)
		}
		defer func() { _ = conn.Close() }()
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: "+r.Header.Get("Upgrade")+"\r\n\r\n")
		for {
			inner, err := http.ReadRequest(from.Reader)
			if err != nil {
				return
			}
			u.ServeHTTP(w, inner)
			_, _ = io.WriteString(conn, "HTTP/1.1 204 No Content\r\n\r\n")
		}
	}
}

// An upgraded connection is one request, whatever is sent in it. So such an upgrade must not reach an
// upstream that takes requests in the connection. The documentation says how.
func TestUpgradedConnections(t *testing.T) {
	const onlyWebSocket = `
	@upgrade {
		header Upgrade *
		not header_regexp Upgrade (?i)^websocket$
	}
	request_header @upgrade -Upgrade
	`
	for _, test := range []struct {
		name, directives, protocol string
		inner                      int // requests in upgraded connections that reach the upstream
	}{
		{"websocket", "", "websocket", 2},
		{"h2c", "", "h2c", 2},
		{"h2c removed", onlyWebSocket, "h2c", 0},
		{"websocket and h2c removed", onlyWebSocket, "websocket, h2c", 0},
		{"websocket kept", onlyWebSocket, "WebSocket", 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			u := newUpstream(keyHeaders)
			g := serve(t, zoned("{http.request.header.X-Api-Key}")+test.directives, upgrading(u))
			for n := range limit + 2 {
				conn, err := net.Dial("tcp", g.plain)
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = conn.Close() }()
				_ = conn.SetDeadline(time.Now().Add(patience))
				from := bufio.NewReader(conn)
				r := keyHeader("outer", n)
				r.header = append(r.header, field{"Connection", "Upgrade"}, field{"Upgrade", test.protocol})
				_, _ = io.WriteString(conn, r.text())
				resp, err := http.ReadResponse(from, nil)
				if err != nil {
					t.Fatal(err)
				}
				want := http.StatusSwitchingProtocols
				if test.inner == 0 {
					want = http.StatusOK
				}
				if n >= limit {
					want = http.StatusTooManyRequests
				}
				if resp.StatusCode != want {
					t.Fatalf("status of upgrade %d = %d, want %d", n, resp.StatusCode, want)
				}
				if want != http.StatusSwitchingProtocols {
					continue
				}
				for range test.inner {
					_, _ = io.WriteString(conn, keyHeader("inner", 0).text())
					if resp, err := http.ReadResponse(from, nil); err != nil || resp.StatusCode != http.StatusNoContent {
						t.Fatalf("an inner request = %v, %v; want 204", resp, err)
					}
				}
			}
			if outer, inner := u.count("outer"), u.count("inner"); outer != limit || inner != limit*test.inner {
				t.Errorf("at the upstream %d upgrades and %d inner requests, want %d and %d", outer, inner, limit, limit*test.inner)
			}
		})
	}
}

// An open WebSocket of HTTP/3, like one of HTTP/1.1, does not count in the limit of an adaptive zone,
// although its status is 200. Otherwise a few clients with WebSockets would have all other clients refused.
func TestOpenWebSocketsOfHTTP3(t *testing.T) {
	u := newUpstream(keyHeaders)
	g := serve(t, "rate_limit {\n zone z {\n adaptive {\n min 1\n max 2\n }\n }\n }", upgrading(u))
	conn := dialHTTP3(t.Context(), t, g.tls)
	defer func() { _ = conn.CloseWithError(0, "") }()
	for n := range 5 {
		stream := beginHTTP3(t.Context(), t, conn, webSocket3("/"))
		if status := readStatus(stream); status != http.StatusOK {
			t.Fatalf("status of WebSocket %d = %d, want 200", n, status)
		}
	}
	if status := http1(g)(get("/")); status != http.StatusOK {
		t.Errorf("status beside 5 WebSockets = %d, want 200", status)
	}
}

// A WebSocket of HTTP/3 counts by the status with which the upstream has switched protocols.
func TestStatusOfWebSocketsOfHTTP3(t *testing.T) {
	u := newUpstream(func(*http.Request) []string { return []string{"opened"} })
	g := serve(t, "rate_limit {\n zone z {\n key {client_ip}\n limit 3/1h\n count_status 101\n wait 0\n }\n }", upgrading(u))
	conn := dialHTTP3(t.Context(), t, g.tls)
	defer func() { _ = conn.CloseWithError(0, "") }()
	for range limit + 2 {
		readStatus(beginHTTP3(t.Context(), t, conn, webSocket3("/")))
	}
	if seen := u.count("opened"); seen != limit {
		t.Errorf("WebSockets at the upstream = %d, want %d", seen, limit)
	}
}
