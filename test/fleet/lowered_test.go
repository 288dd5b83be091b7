package fleet

import (
	"encoding/json"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/test/nodetest"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// A loweredNode sends requests of one key to a node, and counts the admitted ones.
type loweredNode struct {
	*nodetest.Node
	mu       sync.Mutex
	admitted int
}

func (n *loweredNode) send() {
	status, _, err := n.Get("/", "X-Api-Key: k")
	n.mu.Lock()
	defer n.mu.Unlock()
	if err == nil && status == http.StatusOK {
		n.admitted++
	}
}

// took returns how many requests were admitted since the last call.
func (n *loweredNode) took() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	took := n.admitted
	n.admitted = 0
	return took
}

// leased returns how many events the node holds.
func (n *loweredNode) leased(t *testing.T) (events int64) {
	t.Helper()
	for _, l := range n.inspect(t).Node.Leases {
		events += l.Events
	}
	return events
}

func (n *loweredNode) inspect(t *testing.T) *api.InspectedCount {
	t.Helper()
	var answer api.Inspection
	if err := json.Unmarshal([]byte(n.MustAsk(http.MethodPost, "zones/user/inspect", `{"key": "k"}`)), &answer); err != nil {
		t.Fatal(err)
	}
	count := &answer.Counts[0]
	if count.Node == nil {
		count.Node = new(api.NodeState)
	}
	return count
}

// TestLoweredLimitTimeline lowers a limit to a tenth while two nodes hold leases. docs/lowered-limit.md shows
// what the test logs.
func TestLoweredLimitTimeline(t *testing.T) {
	t.Parallel()
	const after, perSecond, seconds = 600, 40, 10
	redis := redistest.NewServer(t)
	var nodes [2]*loweredNode
	for i, n := range nodetest.StartAll(t, 2, nodetest.InRedis(redis.Addr, "timeout 5s")+"\nrules redis", nodetest.UserSite("6000/1m")) {
		nodes[i] = &loweredNode{Node: n}
	}
	ticker := time.NewTicker(time.Second / perSecond)
	defer ticker.Stop()
	var sent sync.WaitGroup
	second := func(at int) (both int) {
		for range perSecond {
			<-ticker.C
			for _, n := range nodes {
				sent.Go(n.send)
			}
		}
		sent.Wait()
		count := nodes[0].inspect(t)
		a, b := nodes[0].took(), nodes[1].took()
		t.Logf("%3d s: admitted %2d + %2d, leased %3d + %3d, limit %s, remaining %d", at, a, b, nodes[0].leased(t), nodes[1].leased(t),
			count.Limit, count.Count.Remaining)
		return a + b
	}
	for at := -4; at < 0; at++ {
		second(at)
	}
	held := nodes[0].leased(t) + nodes[1].leased(t)
	if held == 0 {
		t.Error("no node holds a lease when the limit falls")
	}
	lowered := time.Now()
	nodes[0].MustAsk(http.MethodPatch, "rules", `{"zones": {"user": {"limit": "600/1m"}}}`)
	total := int64(0)
	for at := range seconds {
		total += int64(second(at))
	}
	most := after + after*time.Since(lowered).Milliseconds()/60_000 + held
	if t.Logf("%d admitted since, at most %d", total, most); total > most {
		t.Errorf("%d were admitted after the limit fell, want at most %d", total, most)
	}
	for _, n := range nodes {
		if limit := n.inspect(t).Limit; limit != "600/1m" {
			t.Errorf("limit of a node = %s, want 600/1m", limit)
		}
	}
}
