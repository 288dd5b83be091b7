package fleet

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/test/nodetest"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// burstLimit is the limit of slowSites in requests per day. burstSize is how many requests of a key arrive at
// a node at once.
const burstLimit, burstSize = 20, 40

// slowSites returns a handler for each algorithm and mode, and for two zones of one request, with a
// limit of burstLimit.
func slowSites(onOutage string) (site string, paths []string) {
	var b strings.Builder
	zone := func(name, limit, algorithm, mode string) string {
		return fmt.Sprintf("\t\tzone %s {\n\t\t\tkey {header.X-Api-Key}\n\t\t\tlimit %s\n\t\t\talgorithm %s\n\t\t\tmode %s\n"+
			"\t\t\ton_outage %s\n\t\t}\n", name, limit, algorithm, mode, onOutage)
	}
	limit := fmt.Sprint(burstLimit, "/24h")
	for name, algorithm := range algorithms {
		for _, mode := range []string{"strict", "lease"} {
			path := "/" + name + "-" + mode
			paths = append(paths, path)
			fmt.Fprintf(&b, "\trate_limit %s {\n%s\t}\n", path, zone(path[1:], limit, algorithm, mode))
		}
	}
	paths = append(paths, "/both")
	fmt.Fprintf(&b, "\trate_limit /both {\n%s%s\t}\n",
		zone("both-strict", limit, "fixed_window", "strict"), zone("both-lease", "1000/24h", "sliding_window", "lease"))
	return b.String(), paths
}

// burst has requests of a key arrive at all nodes at once. It returns how many were admitted, and how many
// responses were degraded.
func burst(t *testing.T, nodes []*nodetest.Node, path, key string) (admitted, degradeds int) {
	t.Helper()
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, n := range nodes {
		for range burstSize {
			wg.Go(func() {
				status, h, err := n.Get(path, "X-Api-Key: "+key)
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err != nil:
					t.Error(err)
				case status == 200:
					admitted++
				case status != 429 && status != 503:
					t.Errorf("GET %s = %d, want 200, 429 or 503", path, status)
				}
				if err == nil && degraded(h) {
					degradeds++
				}
			})
		}
	}
	wg.Wait()
	return admitted, degradeds
}

// Redis is slow, but answers each call within the timeout, which is long enough for a busy machine.
// Bursts of parallel requests of fresh keys arrive at all nodes. Redis decides all of them, so no
// key gets more than its limit.
func TestSlowRedisDecidesEverything(t *testing.T) {
	redis := redistest.NewServer(t)
	proxy := redistest.NewProxy(t, redis.Addr)
	site, paths := slowSites("local")
	nodes := nodetest.StartAll(t, 3, nodetest.InRedis(proxy.Addr, "timeout 2s")+"\nnodes 3", site)
	awaitRedis(nodes, paths[0])
	for _, delay := range [][2]time.Duration{{0, 0}, {0, 350 * time.Millisecond}, {350 * time.Millisecond, 350 * time.Millisecond}} {
		proxy.Jitter(delay[0], delay[1])
		for _, path := range paths {
			admitted, without := burst(t, nodes, path, fmt.Sprint("key", delay))
			if admitted > burstLimit || without > 0 || admitted < burstLimit && strings.HasSuffix(path, "strict") {
				t.Errorf("replies after %v, %s: admitted = %d, without Redis = %d, want %d and none",
					delay, path, admitted, without, burstLimit)
			}
		}
	}
}

// Redis answers later than the timeout. Without it, the nodes admit no more than the limit once more, and
// nothing if on_outage is closed.
func TestLateRedisExceedsByOneLimit(t *testing.T) {
	t.Parallel()
	for onOutage, most := range map[string]int{"local": 2 * burstLimit, "closed": burstLimit} {
		t.Run(onOutage, func(t *testing.T) {
			redis := redistest.NewServer(t)
			proxy := redistest.NewProxy(t, redis.Addr)
			site, paths := slowSites(onOutage)
			nodes := nodetest.StartAll(t, 3, nodetest.InRedis(proxy.Addr)+"\nnodes 3", site)
			awaitRedis(nodes, paths[0])
			sum := 0
			for _, delay := range []time.Duration{60 * time.Millisecond, 120 * time.Millisecond} {
				proxy.Delay(delay)
				for _, path := range paths {
					admitted, without := burst(t, nodes, path, fmt.Sprint("key", delay))
					more, withoutMore := burst(t, nodes, path, fmt.Sprint("key", delay))
					if admitted+more > most {
						t.Errorf("replies after %v, %s: admitted = %d, want at most %d", delay, path, admitted+more, most)
					}
					sum += without + withoutMore
				}
			}
			late := 0.0
			for _, n := range nodes {
				for _, path := range paths[:len(paths)-1] {
					for _, outcome := range []string{"degraded", "rejected", "unavailable"} {
						late += n.Metric(`caddy_rate_limit_decisions_total{outcome="` + outcome + `",source="late",zone="` + path[1:] + `"}`)
					}
				}
			}
			if sum == 0 || late == 0 {
				t.Errorf("responses without Redis = %d, decisions that were late = %v, want some", sum, late)
			}
		})
	}
}

// awaitRedis waits until Redis decides the requests of all nodes.
func awaitRedis(nodes []*nodetest.Node, path string) {
	for _, n := range nodes {
		n.Await("decisions by Redis", func() bool {
			_, h, err := n.Get(path, "X-Api-Key: any")
			return err == nil && !degraded(h)
		})
	}
}
