package fleet

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/test/nodetest"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// networkSites returns handlers with a limit of burstLimit, for some algorithms, both modes and two settings
// of on_outage. most has, by the path of each handler, how many requests of a key it may admit in a window.
func networkSites() (site string, most map[string]int) {
	var b strings.Builder
	most = make(map[string]int)
	for onOutage, bound := range map[string]int{"local": 2 * burstLimit, "closed": burstLimit} {
		for _, mode := range []string{"strict", "lease"} {
			for _, name := range []string{"bucket", "sliding"} {
				zone := strings.Join([]string{name, mode, onOutage}, "-")
				most["/"+zone] = bound
				fmt.Fprintf(&b, "\trate_limit /%[1]s {\n\t\tzone %[1]s {\n\t\t\tkey {header.X-Api-Key}\n\t\t\tlimit %[2]d/24h\n"+
					"\t\t\talgorithm %[3]s\n\t\t\tmode %[4]s\n\t\t\ton_outage %[5]s\n\t\t}\n\t}\n",
					zone, burstLimit, algorithms[name], mode, onOutage)
			}
		}
	}
	return b.String(), most
}

// The network between the nodes and Redis is bad in several ways, while bursts of requests of fresh keys
// arrive at all nodes. The nodes admit no more than the limit on top of the limit, and nothing on top of it
// if on_outage is closed.
func TestBadNetwork(t *testing.T) {
	site, most := networkSites()
	const anyPath = "/bucket-strict-closed"

	// within sends two bursts, checks that no more than most are admitted, and returns how many responses
	// were degraded.
	within := func(t *testing.T, nodes []*nodetest.Node, path, key string) int {
		t.Helper()
		admitted, without := burst(t, nodes, path, key)
		more, withoutMore := burst(t, nodes, path, key)
		if admitted+more > most[path] {
			t.Errorf("%s: admitted = %d, want at most %d", path, admitted+more, most[path])
		}
		return without + withoutMore
	}
	// recovers checks that Redis decides everything again.
	recovers := func(t *testing.T, nodes []*nodetest.Node) {
		t.Helper()
		awaitRedis(nodes, anyPath)
		nodes[0].Await("bursts that Redis decides", func() bool {
			admitted, without := burst(t, nodes, anyPath, fmt.Sprint(time.Now().UnixNano()))
			return admitted == burstLimit && without == 0
		})
	}
	start := func(t *testing.T, timeout time.Duration) ([]*nodetest.Node, *redistest.Proxy) {
		t.Helper()
		proxy := redistest.NewProxy(t, redistest.NewServer(t).Addr)
		nodes := nodetest.StartAll(t, 3, nodetest.InRedis(proxy.Addr, fmt.Sprint("timeout ", timeout))+"\nnodes 3", site)
		awaitRedis(nodes, anyPath)
		return nodes, proxy
	}

	t.Run("replies around the timeout", func(t *testing.T) {
		t.Parallel()
		const timeout = 100 * time.Millisecond
		nodes, proxy := start(t, timeout)
		proxy.Jitter(timeout*7/10, timeout*13/10)
		degraded := 0
		for path := range most {
			degraded += within(t, nodes, path, "jitter")
		}
		if degraded == 0 {
			t.Error("no reply was late: the test is void")
		}
		proxy.Delay(0)
		recovers(t, nodes)
	})
	t.Run("lost connections", func(t *testing.T) {
		t.Parallel()
		nodes, proxy := start(t, 100*time.Millisecond)
		degraded := 0
		for path := range most {
			proxy.Drop()
			degraded += within(t, nodes, path, "lost")
		}
		if degraded == 0 {
			t.Error("no connection was lost: the test is void")
		}
		recovers(t, nodes)
	})
	t.Run("one slow primary", func(t *testing.T) {
		t.Parallel()
		const timeout = 200 * time.Millisecond
		cluster := redistest.NewCluster(t, "cluster-node-timeout 60000")
		proxies := cluster.Proxies()
		nodes := nodetest.StartAll(t, 3, fmt.Sprintf("redis cluster {\n\taddress %s\n\ttimeout %v\n}\nnodes 3",
			strings.Join(cluster.Addrs, " "), timeout), site)
		awaitRedis(nodes, anyPath)
		proxies[0].Delay(2 * timeout)
		slow, others := 0, 0
		for i := 0; slow == 0 || others == 0; i++ {
			if i == 10 {
				t.Fatalf("bursts with and without degraded responses = %d and %d, want some of both", slow, others)
			}
			for path := range most {
				if within(t, nodes, path, fmt.Sprint("key", i)) > 0 {
					slow++
				} else {
					others++
				}
			}
		}
	})
}
