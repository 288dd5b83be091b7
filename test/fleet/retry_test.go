package fleet

import (
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/test/nodetest"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// A key has used its limit, and no lease is out. All nodes tell its client the same instant at which to come
// again. Retry-After is never too short, and from one response to the next it only falls.
func TestNodesTellTheSameRetryAfter(t *testing.T) {
	const perEvent = time.Hour / 1000
	nodes := nodetest.StartAll(t, 4, inCluster(redistest.SharedCluster(t))+"\nnodes 20", `
		rate_limit {
			zone bucket {
				key {header.X-Api-Key}
				limit 1000/1h
				cost {header.X-Cost} trusted
			}
		}`)
	earliest := time.Now().Add(perEvent)
	nodes[0].MustGet(http.StatusOK, "/", "X-Api-Key: a", "X-Cost: 1000")
	latest := time.Now().Add(perEvent)
	before := 1 << 62
	tick := time.NewTicker(perEvent / 100)
	defer tick.Stop()
	for i := 0; time.Until(earliest) > perEvent/4; i++ {
		sent := time.Now()
		header := nodes[i%len(nodes)].MustGet(http.StatusTooManyRequests, "/", "X-Api-Key: a")
		got, err := strconv.Atoi(header.Get("Retry-After"))
		if err != nil {
			t.Fatal(err)
		}
		if least := time.Until(earliest); time.Duration(got)*time.Second < least {
			t.Errorf("response %d: Retry-After = %d s, want %v at least", i, got, least)
		}
		if most := latest.Sub(sent) + 10*time.Millisecond + time.Second; time.Duration(got)*time.Second > most {
			t.Errorf("response %d: Retry-After = %d s, want %v at most: rounded up", i, got, most)
		}
		if got > before {
			t.Errorf("response %d: Retry-After = %d s after %d s, want it never to rise", i, got, before)
		}
		before = got
		<-tick.C
	}
}
