package fleet

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/fleetlimit/fleetlimit/test/nodetest"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// TestConcurrentOfFleet has requests in flight on three nodes, under one limit of all nodes together. Then
// the requests move to one node.
func TestConcurrentOfFleet(t *testing.T) {
	const limit = 5
	release := make(chan struct{})
	var inFlight, most atomic.Int64
	upstream := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		n := inFlight.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		<-release
		inFlight.Add(-1)
	}))
	defer upstream.Close()
	nodes := nodetest.StartAll(t, 3, inCluster(redistest.SharedCluster(t)),
		fmt.Sprintf("\trate_limit {\n\t\tzone z {\n\t\t\tkey static\n\t\t\tconcurrent %d\n\t\t}\n\t}\n\thandle {\n\t\treverse_proxy %s\n\t}\n",
			limit, upstream.Listener.Addr()))
	for round, on := range [][]*nodetest.Node{nodes, nodes[2:], nodes[:1]} {
		var all sync.WaitGroup
		for i := range limit {
			n := on[i%len(on)]
			all.Go(func() {
				for { // the permits of the last round may be on their way back
					status, header, err := n.Get("/")
					if err != nil || degraded(header) {
						t.Errorf("round %d: %v with %v, want a decision by Redis", round, err, header)
					}
					if err != nil || status == http.StatusOK {
						return
					}
				}
			})
		}
		redistest.Eventually(t, "the limit to be in flight", func() bool { return inFlight.Load() == limit })
		for _, n := range nodes {
			n.MustGet(http.StatusTooManyRequests, "/")
		}
		for range limit {
			release <- struct{}{}
		}
		all.Wait()
	}
	if most.Load() != limit {
		t.Errorf("%d requests were in flight at once, want %d", most.Load(), limit)
	}
}
