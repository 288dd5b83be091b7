package fleet

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/test/nodetest"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// TestPermitsOfKilledNode kills the process of a node that has all permits in use. Another node gets
// them within 15 seconds.
func TestPermitsOfKilledNode(t *testing.T) {
	t.Parallel()
	const limit, within = 5, 15 * time.Second
	var inFlight atomic.Int64
	release := make(chan struct{})
	upstream := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		inFlight.Add(1)
		defer inFlight.Add(-1)
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	defer upstream.Close()
	nodes := nodetest.StartAll(t, 2, nodetest.InRedis(redistest.NewServer(t).Addr, "timeout 1s"),
		"\trate_limit {\n\t\tzone z {\n\t\t\tkey {client_ip}\n\t\t\tconcurrent 5\n\t\t}\n\t}\n\troute {\n\t\treverse_proxy "+
			upstream.Listener.Addr().String()+"\n\t}\n")
	hold := func(n *nodetest.Node) {
		for range limit {
			go func() { _, _, _ = n.Get("/") }() // fails when the node is killed
		}
	}
	hold(nodes[0])
	redistest.Eventually(t, "all permits in use", func() bool { return inFlight.Load() == limit })
	nodes[1].MustGet(http.StatusTooManyRequests, "/")
	nodes[0].Kill()
	killed := time.Now()
	redistest.Eventually(t, "the end of the requests of the node that was killed", func() bool { return inFlight.Load() == 0 })
	for inFlight.Load() < limit && time.Since(killed) < within+5*time.Second {
		go func() { _, _, _ = nodes[1].Get("/") }() // is rejected, or stays in flight
		<-time.After(50 * time.Millisecond)
	}
	if after := time.Since(killed); inFlight.Load() != limit || after > within {
		t.Errorf("%d requests are in flight on the other node %v after the crash, want %d within %v", inFlight.Load(), after, limit, within)
	} else {
		t.Logf("the other node has all permits after %v", after)
	}
	close(release)
}
