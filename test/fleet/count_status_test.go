package fleet

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/test/nodetest"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// Of 200 wrong passwords that are sent to four nodes at once, five reach the upstream. None of 50 right
// passwords at once is rejected, and none of 1000 that follow each other, although the fleet has at most five
// under way at a time.
func TestFleetCountsFailedLogins(t *testing.T) {
	t.Parallel()
	var attempts, underWay, mostUnderWay atomic.Int64
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		attempts.Add(1)
		now := underWay.Add(1)
		for most := mostUnderWay.Load(); now > most && !mostUnderWay.CompareAndSwap(most, now); most = mostUnderWay.Load() {
		}
		if r.Header.Get("X-User") != "bob" {
			<-time.After(20 * time.Millisecond)
		}
		underWay.Add(-1)
		if r.Header.Get("X-Password") != "right" {
			w.WriteHeader(http.StatusUnauthorized)
		}
		_, _ = io.WriteString(w, "done")
	}))
	defer upstream.Close()
	nodes := nodetest.StartAll(t, 4, nodetest.InRedis(redistest.NewServer(t).Addr, "timeout 5s"), `
	rate_limit {
		zone login {
			key {header.X-User}
			limit 5/15m
			count_status 401
		}
	}
	route {
		reverse_proxy `+upstream.Listener.Addr().String()+`
	}`)
	atOnce := func(n int, user, password string) map[int]int {
		var (
			wg       sync.WaitGroup
			mu       sync.Mutex
			statuses = make(map[int]int)
		)
		for i := range n {
			wg.Go(func() {
				status, _, err := nodes[i%len(nodes)].Get("/", "X-User: "+user, "X-Password: "+password)
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				statuses[status]++
			})
		}
		wg.Wait()
		return statuses
	}
	if statuses := atOnce(200, "mallory", "wrong"); attempts.Load() != 5 || statuses[401] != 5 || statuses[429] != 195 {
		t.Errorf("%d of 200 wrong passwords reached the upstream, with %v, want 5", attempts.Load(), statuses)
	}
	if statuses := atOnce(50, "alice", "right"); statuses[200] != 50 {
		t.Errorf("50 right passwords at once: %v, want 200 alone", statuses)
	}
	for i := range 1000 {
		if status, _, err := nodes[i%len(nodes)].Get("/", "X-User: bob", "X-Password: right"); err != nil || status != 200 {
			t.Fatalf("right password %d of 1000 that follow each other = %d, %v, want 200", i+1, status, err)
		}
	}
	if mostUnderWay.Load() > 5 {
		t.Errorf("%d attempts were under way at a time, want 5 at most", mostUnderWay.Load())
	}
}
