package fleet

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/test/nodetest"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// Redis is far away, but answers each call within the timeout. It is restarted without its data, or forgets
// its scripts. As soon as it decides requests again, bursts of requests of fresh keys arrive at all nodes.
// Each request is the first use of a script. No key gets more than its limit.
func TestColdRedisKeepsTheLimit(t *testing.T) {
	t.Parallel()
	const timeout = 2 * time.Second // long, so that a busy machine is not late itself
	redis := redistest.NewServer(t)
	proxy := redistest.NewProxy(t, redis.Addr)
	proxy.Delay(timeout * 6 / 10) // two round trips take longer
	site, _ := slowSites("local")
	nodes := nodetest.StartAll(t, 4, nodetest.InRedis(proxy.Addr, fmt.Sprint("timeout ", timeout))+"\nnodes 4",
		site+"\trate_limit /ready {\n\t\tzone ready {\n\t\t\tkey static\n\t\t\tlimit 1000000/24h\n\t\t\tmode strict\n\t\t}\n\t}\n")
	for _, name := range []string{"a restart", "SCRIPT FLUSH"} {
		if name == "a restart" {
			redis.Restart()
		}
		awaitRedis(nodes, "/ready")
		if name == "SCRIPT FLUSH" {
			if err := redis.Client().ScriptFlush(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
		}
		var bursts sync.WaitGroup
		for _, path := range []string{"/fixed-strict", "/log-strict", "/log-lease", "/both"} {
			bursts.Go(func() {
				admitted, without := burst(t, nodes, path, path+name)
				if admitted > burstLimit {
					t.Errorf("after %s, %s: admitted = %d, want %d at most; without Redis = %d, want none", name, path, admitted, burstLimit, without)
				}
			})
		}
		bursts.Wait()
	}
}
