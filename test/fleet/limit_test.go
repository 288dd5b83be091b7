package fleet

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/test/nodetest"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// inCluster returns the global option of a fleet on a cluster, with more lines for its redis block.
func inCluster(c *redistest.Cluster, more ...string) string {
	return "redis cluster {\n\taddress " + strings.Join(c.Addrs, " ") + "\n\ttimeout 5s\n" + strings.Join(more, "\n") + "\n}"
}

// inMode returns the defaults block that sets a mode.
func inMode(mode string) string { return "\ndefaults {\n\tmode " + mode + "\n}" }

// algorithms has the algorithm of each zone by the name of the zone.
var algorithms = map[string]string{
	"bucket":  "token_bucket",
	"log":     "sliding_window_log",
	"sliding": "sliding_window 3",
	"fixed":   "fixed_window",
}

const limit, window = 1000, 24 * time.Hour

// sites returns a handler for each algorithm. Each has a zone with the limit.
func sites() string {
	var b strings.Builder
	for zone, algorithm := range algorithms {
		fmt.Fprintf(&b, "\trate_limit /%[1]s {\n\t\tzone %[1]s {\n\t\t\tkey {header.X-Api-Key}\n"+
			"\t\t\tlimit %d/24h\n\t\t\talgorithm %s\n\t\t}\n\t}\n",
			zone, limit, algorithm)
	}
	return b.String()
}

// most returns the most requests that a zone may have admitted since begin.
func most(zone string, begin time.Time) int64 {
	if zone == "bucket" {
		return limit + int64(time.Since(begin)*limit/window)
	}
	return limit
}

// Nodes in strict mode together admit exactly as many requests as one node.
func TestStrictNodesAdmitExactlyTheLimit(t *testing.T) {
	for _, size := range []int{2, 10} {
		t.Run(fmt.Sprint(size, " nodes"), func(t *testing.T) {
			nodes := nodetest.StartAll(t, size, inCluster(redistest.SharedCluster(t))+inMode("strict"), sites())
			for zone := range algorithms {
				begin := time.Now()
				admitted := hammer(t, nodes, "/"+zone, limit+limit/2)
				if most := most(zone, begin); admitted < limit || admitted > most {
					t.Errorf("%s: admitted %d of %d requests, want %d to %d", zone, admitted, limit+limit/2, limit, most)
				}
			}
		})
	}
}

// Nodes with leases together never admit more requests than one node. Once unspent events have been returned,
// they do not admit fewer, either.
func TestLeasingNodesAdmitTheLimit(t *testing.T) {
	for _, size := range []int{2, 10} {
		t.Run(fmt.Sprint(size, " nodes"), func(t *testing.T) {
			nodes := nodetest.StartAll(t, size, inCluster(redistest.SharedCluster(t)), sites())
			begin, admitted := time.Now(), make(map[string]int64)
			for zone := range algorithms {
				admitted[zone] = hammer(t, nodes, "/"+zone, limit+limit/2)
				t.Logf("%s: admitted %d of %d requests at first", zone, admitted[zone], limit+limit/2)
			}
			for zone := range algorithms {
				nodes[0].Await("the remaining requests of the limit", func() bool {
					admitted[zone] += hammer(t, nodes, "/"+zone, 2*size)
					return admitted[zone] >= limit
				})
				if most := most(zone, begin); admitted[zone] > most {
					t.Errorf("%s: admitted %d requests, want %d at most", zone, admitted[zone], most)
				}
			}
			if local := nodes[0].Metric(`caddy_rate_limit_decisions_total{outcome="admitted",source="lease",zone="fixed"}`); local < limit/20 {
				t.Errorf("%v requests were admitted from leases, want more: the test is void", local)
			}
		})
	}
}

// hammer sends requests of one key to all nodes at the same time and returns how many were
// admitted.
func hammer(t *testing.T, nodes []*nodetest.Node, path string, requests int) int64 {
	t.Helper()
	var (
		wg             sync.WaitGroup
		sent, admitted atomic.Int64
	)
	for worker := range 2 * len(nodes) {
		n := nodes[worker%len(nodes)]
		wg.Go(func() {
			for sent.Add(1) <= int64(requests) {
				status, header, err := n.Get(path, "X-Api-Key: hot")
				switch {
				case err != nil:
					t.Error(err)
				case status == http.StatusOK && header.Get("X-RateLimit-Policy") == "":
					admitted.Add(1)
				case status != http.StatusTooManyRequests:
					t.Errorf("GET %s = %d, want 200 or 429; headers %v", path, status, header)
				}
			}
		})
	}
	wg.Wait()
	return admitted.Load()
}

// Zones by user, tenant and address deny requests on different nodes, and nothing is taken from the other
// zones. With leases, a node does not know how much the other node has left, but the same requests are
// admitted.
func TestDeniedRequestTakesNothingFromOtherZones(t *testing.T) {
	for _, mode := range []string{"strict", "lease"} {
		t.Run(mode, func(t *testing.T) { testDeniedRequest(t, mode) })
	}
}

func testDeniedRequest(t *testing.T, mode string) {
	cluster := redistest.SharedCluster(t)
	options := inCluster(cluster, "key_prefix "+mode) + inMode(mode)
	store := "redis cluster " + strings.Join(cluster.Addrs, " ")
	const site = `	rate_limit {
		zone user {
			key {header.X-User}
			limit 3/24h
		}
		zone tenant {
			key {header.X-Tenant}
			limit 5/24h
			algorithm fixed_window
		}
		zone address {
			key {client_ip}
			limit 100/24h
			algorithm sliding_window_log
		}
	}`
	nodes := []*nodetest.Node{nodetest.Start(t, options, site), nodetest.Start(t, options, site)}
	left := func(i, status int, user string) string {
		t.Helper()
		header := nodes[i%2].MustGet(status, "/", "X-User: "+user, "X-Tenant: acme")
		var left []string
		for _, item := range strings.Split(header.Get("RateLimit"), ", ") {
			left = append(left, strings.Split(item, ";")[1])
		}
		return strings.Join(left, " ") // of address, tenant, user
	}
	var returned [2]float64
	for i, test := range []struct {
		user   string
		status int
		left   string
	}{
		{"ann", 200, "r=99 r=4 r=2"},
		{"ann", 200, "r=98 r=3 r=1"},
		{"ann", 200, "r=97 r=2 r=0"},
		{"ann", 429, "* * r=0"},
		{"ann", 429, "* * r=0"},
		{"bob", 200, "r=96 r=1 r=2"},
		{"bob", 200, "r=95 r=0 r=1"},
		{"bob", 429, "* r=0 *"},
		{"cid", 429, "* r=0 *"},
	} {
		want := strings.Fields(test.left)
		got := strings.Fields(left(i, test.status, test.user))
		for zone := range want {
			if want[zone] == "*" { // another zone denied before the reply about this one came: the node tells what it knew
				want[zone] = got[zone]
			}
		}
		if !slices.Equal(got, want) && mode == "strict" {
			t.Errorf("request %d, of %s: left = %v, want %s", i+1, test.user, got, test.left)
		}
		if test.status == http.StatusTooManyRequests && mode == "strict" {
			returned[i%2] += 2
			nodes[i%2].Await("the refund of the other two zones", func() bool {
				return nodes[i%2].Metric(`caddy_rate_limit_lease_events_total{store="`+store+`",what="returned"}`) == returned[i%2]
			})
		}
	}
}

// Nodes share the limit of requests without a key, besides the limits of keys.
func TestNodesShareLimitOfRequestsWithoutKey(t *testing.T) {
	nodes := nodetest.StartAll(t, 2, inCluster(redistest.SharedCluster(t))+inMode("strict"), `
		rate_limit {
			zone strangers {
				key {header.X-Key}
				on_missing_key {client_ip} 5/24h
				limit 1000/24h
				endpoint /search 500/24h
			}
		}`)
	for i := range 5 {
		h := nodes[i%2].MustGet(200, []string{"/", "/search"}[i%2])
		if got, want := h.Get("X-RateLimit-Remaining"), fmt.Sprint(4-i); got != want {
			t.Errorf("remaining after %d requests = %s, want %s", i+1, got, want)
		}
	}
	for _, n := range nodes {
		n.MustGet(429, "/")
		n.MustGet(429, "/search")
		n.MustGet(200, "/", "X-Key: alice")
	}
}
