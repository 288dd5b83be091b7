package attack

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// guesses counts failed logins, and admits five.
const guesses = `rate_limit {
	zone login {
		key {client_ip}
		limit 5/15m
		count_status 401
	}
}`

// A login is an upstream that checks passwords, slowly.
type login struct{ attempts atomic.Int64 }

func (l *login) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.attempts.Add(1)
	<-time.After(20 * time.Millisecond)
	if r.Header.Get("X-Password") != "right" {
		w.WriteHeader(http.StatusUnauthorized)
	}
}

// logIn returns a request with a password. It is a POST, because for a GET over HTTP/3, Go's transport probes
// for 200 ms whether there is a body, and writes the headers while Caddy's proxy still changes the trailers.
func logIn(password string, more ...field) request {
	return request{method: "POST", target: "/", host: "api.example", header: append(more, field{"X-Password", password})}
}

// TestParallelGuesses sends 200 wrong passwords at once. Five of them reach the upstream, over every protocol
// and with every store.
func TestParallelGuesses(t *testing.T) {
	onRedisIn := func(mode string) func(t *testing.T) string {
		return func(t *testing.T) string {
			return onRedis(mode, "standalone", 5*time.Second, redistest.NewServer(t).Addr)
		}
	}
	for _, tc := range []struct {
		store     string
		options   func(t *testing.T) string
		protocols []string
	}{
		{"memory", func(*testing.T) string { return "" }, []string{"http1", "http2", "http3"}},
		{"Redis", onRedisIn("lease"), []string{"http1"}},
		{"strict", onRedisIn("strict"), []string{"http2"}},
	} {
		t.Run(tc.store, func(t *testing.T) {
			upstream := new(login)
			g := serveWith(t, tc.options(t), guesses, upstream.ServeHTTP)
			clients := parallel(t, g)
			for i, protocol := range tc.protocols {
				before := upstream.attempts.Load()
				address := field{"X-Forwarded-For", fmt.Sprint("192.0.2.", i)}
				statuses := clients[protocol](200, logIn("wrong", address))
				if reached := upstream.attempts.Load() - before; reached != 5 || statuses[401] != 5 || statuses[429] != 195 {
					t.Errorf("%s: %d guesses reached the upstream, with %v, want 5", protocol, reached, statuses)
				}
			}
		})
	}
}

// TestParallelLogins sends 50 right passwords at once, and 1000 one after the other. None is rejected,
// although the limit lets at most five be under way at a time.
func TestParallelLogins(t *testing.T) {
	upstream := new(login)
	g := serve(t, guesses, upstream.ServeHTTP)
	for protocol, send := range parallel(t, g) {
		if statuses := send(50, logIn("right")); statuses[200] != 50 {
			t.Errorf("%s: 50 at once: %v, want 200 alone", protocol, statuses)
		}
	}
	g = serve(t, strings.Replace(guesses, "}\n}", "}\n}\nrespond /quick ok", 1), upstream.ServeHTTP)
	sum := g.hammer(t, 1, 1000, func(int, int) request { return get("/quick") })
	if sum.admitted != 1000 {
		t.Errorf("1000 in sequence: %+v, want all admitted", sum)
	}
}

// parallel returns, for each protocol, a function that sends a number of equal requests at once. The function
// returns how many responses had each status.
func parallel(t *testing.T, g *gateway) map[string]func(n int, r request) map[int]int {
	each := func(send func(r request) int) func(int, request) map[int]int {
		return func(n int, r request) map[int]int {
			var (
				wg       sync.WaitGroup
				mu       sync.Mutex
				statuses = make(map[int]int)
			)
			for range n {
				wg.Go(func() {
					status := send(r)
					mu.Lock()
					defer mu.Unlock()
					statuses[status]++
				})
			}
			wg.Wait()
			return statuses
		}
	}
	http2 := &http.Client{Timeout: patience, Transport: &http.Transport{TLSClientConfig: clientTLS("h2"), ForceAttemptHTTP2: true}}
	t.Cleanup(http2.CloseIdleConnections)
	conn := dialHTTP3(t.Context(), t, g.tls)
	t.Cleanup(func() { _ = conn.CloseWithError(0, "") })
	return map[string]func(int, request) map[int]int{
		"http1": each(http1(g)),
		"http2": each(func(r request) int {
			sent, err := http.NewRequestWithContext(t.Context(), r.method, "https://"+g.tls+r.target, nil)
			if err != nil {
				return 0
			}
			sent.Host = r.host
			for _, f := range r.header {
				sent.Header.Add(f.name, f.value)
			}
			reply, err := http2.Do(sent)
			if err != nil || reply.ProtoMajor != 2 {
				return 0
			}
			_ = reply.Body.Close()
			return reply.StatusCode
		}),
		"http3": each(func(r request) int { return sendHTTP3(t.Context(), t, conn, r)() }),
	}
}
