package integration

import (
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
)

// Reloads under load lose no request and no count. The test also loads a site without the handler, for
// comparison.
func TestReloadsUnderLoadLoseNothing(t *testing.T) {
	const reloads, connections, limit = 100, 4, 1_000_000
	g := newGateway(t)
	load := func(n int) {
		t.Helper()
		respond := fmt.Sprintf("respond \"configuration %d\"", n)
		g.mustLoad(g.caddyfile("", fmt.Sprintf(`
			rate_limit {
				zone counted {
					key all
					limit %d/87600h
					algorithm fixed_window
				}
				zone extra%d {
					key {client_ip}
					limit 1000000/1s
				}
			}
			%s
		`, limit, n%3, respond), respond))
	}
	load(0)
	done := make(chan struct{})
	limited, bare := startLoad(t, g.addr, connections, done), startLoad(t, g.second, connections, done)
	for n := range reloads {
		load(n + 1)
	}
	close(done)
	limited.clients.Wait()
	bare.clients.Wait()

	answered := limited.answered.Load() + 1
	r := g.get("/").is(200)
	if got, want := r.limits()["counted"].r, limit-answered; got != want {
		t.Errorf("remaining after %d requests = %d, want %d", answered, got, want)
	}
	if got := g.metric(`caddy_rate_limit_requests_total{key="",zone="counted"}`); got != float64(answered) {
		t.Errorf("counter after %d requests = %v", answered, got)
	}
	if answered < 5*reloads {
		t.Errorf("requests during %d reloads = %d, want more", answered, reloads)
	}
	// The number of connections that a closing server drops is random. The handler must not raise it.
	if with, without := limited.repeated.Load(), bare.repeated.Load(); with > 4*without+50 {
		t.Errorf("requests repeated by clients of the limited site = %d, of the bare site = %d", with, without)
	}
	t.Logf("during %d reloads: %d requests to the limited site, %d repeated by the client; to the bare site %d, %d repeated",
		reloads, answered, limited.repeated.Load(), bare.answered.Load(), bare.repeated.Load())
}

// A load is clients that send requests on keep-alive connections.
type load struct {
	clients            sync.WaitGroup
	answered, repeated atomic.Int64
}

// startLoad starts clients that send requests to addr until done is closed. An error, or a status
// other than 200, fails the test.
func startLoad(t *testing.T, addr string, clients int, done <-chan struct{}) *load {
	l := new(load)
	for range clients {
		l.clients.Go(func() {
			client := newClient()
			defer client.CloseIdleConnections()
			for running(done) {
				if status, err := fetch(client, "http://"+addr+"/"); err != nil || status != http.StatusOK {
					t.Errorf("response of %s = %d, %v, want 200", addr, status, err)
					return
				}
				l.answered.Add(1)
			}
			l.repeated.Add(repeated(client))
		})
	}
	return l
}

func running(done <-chan struct{}) bool {
	select {
	case <-done:
		return false
	default:
		return true
	}
}

// fetch reads a response to its end, so that its connection is reused.
func fetch(client *http.Client, url string) (status int, err error) {
	resp, err := client.Get(url)
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	_, err = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, err
}

func TestRequestsOutliveTheirConfiguration(t *testing.T) {
	arrived, release := make(chan struct{}), make(chan struct{})
	addr := upstream(t, func(w http.ResponseWriter, _ *http.Request) {
		arrived <- struct{}{}
		<-release
		w.Header().Set("X-RateLimit-Remaining", "999")
		_, _ = io.WriteString(w, "late")
	})
	g := serve(t, limited+"reverse_proxy "+addr)
	replies, first := make(chan *reply), g.addr
	go func() { replies <- g.requestAt(first, "GET", "/") }()
	<-arrived
	g.reload("respond hello") // the zone is gone, and its counts
	g.reload(limited + "respond hello")
	g.get("/").admitted(4)
	close(release)
	if r := (<-replies).admitted(4); r.body != "late" {
		t.Errorf("body = %q, want late", r.body)
	}
	g.get("/").admitted(3)
}
