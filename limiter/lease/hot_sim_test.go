package lease

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// A hotKey is a key that clients of all nodes take from. While it is calm, takes come at 90 % of
// the limit. After that, they come at hotLoad times the limit.
type hotKey struct {
	nodes       int
	algorithm   limiter.Algorithm
	calm, lasts time.Duration
}

const (
	hotLoad     = 12
	hotClients  = 16 // number of clients of each node
	hotEvents   = 100_000
	hotInWindow = time.Minute
)

// A hotSum is what has happened since the key has been hot.
type hotSum struct {
	takes, admitted, requests int64
	peak                      int64 // the most requests in a second
}

// A hotClient has what all clients share.
type hotClient struct {
	gap             atomic.Int64 // mean time between two takes of one client, in ns
	takes, admitted atomic.Int64 // how many takes there were, and how many were admitted
	end             time.Time
}

func (h hotKey) run(t *testing.T) (sum hotSum) {
	synctest.Test(t, func(t *testing.T) {
		lender, c := newLender(rtt), hotClient{end: time.Now().Add(h.calm + h.lasts)}
		perSecond := hotEvents / hotInWindow.Seconds() / float64(h.nodes*hotClients)
		c.gap.Store(int64(float64(time.Second) / (0.9 * perSecond)))
		var clients sync.WaitGroup
		for i := range h.nodes {
			rng := rand.New(rand.NewPCG(uint64(i), 1))
			n := node{t, New(lender, Options{Nodes: func() int { return h.nodes }}), lender}
			defer n.Close()
			limit := limiter.Limit{Events: hotEvents, Window: hotInWindow}
			r := n.rule(limiter.Rule{Algorithm: h.algorithm, Limit: limit})
			for range hotClients {
				own := rand.New(rand.NewPCG(rng.Uint64(), 2))
				clients.Go(func() { c.run(n, r, own) })
			}
		}
		time.Sleep(h.calm)
		c.gap.Store(int64(float64(time.Second) / (hotLoad * perSecond)))
		lender.forget()
		takes, admitted := c.takes.Load(), c.admitted.Load()
		for range h.lasts / time.Second {
			time.Sleep(time.Second)
			requests := lender.forget()
			sum.requests, sum.peak = sum.requests+requests, max(sum.peak, requests)
		}
		clients.Wait()
		sum.takes, sum.admitted = c.takes.Load()-takes, c.admitted.Load()-admitted
	})
	return sum
}

// run takes one event after another until the test ends.
func (c *hotClient) run(n node, r *limiter.Rule, rng *rand.Rand) {
	for {
		time.Sleep(time.Duration(rng.ExpFloat64() * float64(c.gap.Load())))
		if !time.Now().Before(c.end) {
			return
		}
		takes := []limiter.Take{takeOf(r, "key", 1)}
		_ = n.Take(n.t.Context(), n.options.Clock(), takes) // the lender answers all
		if c.takes.Add(1); takes[0].Decision.OK {
			c.admitted.Add(1)
		}
	}
}

// forget returns how many requests have had an effect since the last call of forget.
func (m *memoryLender) forget() (requests int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	requests = int64(len(m.requests))
	m.requests = m.requests[:0]
	return requests
}

// hotAlgorithms are the algorithms, each with what it admits in 75 seconds from the beginning of a
// window on, with how many requests 1000 takes may cost, and with how many requests a node may send
// in a second.
//
// A log leases nothing near its limit. There, a request serves only the takes that wait for it.
var hotAlgorithms = []struct {
	name string
	limiter.Algorithm
	admits              int64
	perThousand, atMost float64
}{
	{"bucket", bucket, hotEvents + hotEvents*75/60, 10, 200},
	{"fixed", fixed, 2 * hotEvents, 10, 200},
	{"sliding-1", sliding(1), hotEvents + hotEvents*15/60, 10, 200},
	{"sliding-60", sliding(60), 2 * hotEvents, 10, 200},
	{"log", slidingWindowLog, 2 * hotEvents, 40, 500},
}

// TestLoadOfHotKey has takes come at 12 times the limit. The nodes admit 98 % of what the limit
// allows. Each node sends few requests, because it asks the lender for what its takes spend within
// the horizon, and repeats denials.
func TestLoadOfHotKey(t *testing.T) {
	testHotKeys(t, 0, 75*time.Second)
}

// TestLoadOfKeyThatGetsHot has takes come at 90 % of the limit, and then at 12 times the limit.
// What a sliding window has used until then comes back little by little.
func TestLoadOfKeyThatGetsHot(t *testing.T) {
	testHotKeys(t, 70*time.Second, 40*time.Second)
}

func testHotKeys(t *testing.T, calm, lasts time.Duration) {
	for _, test := range hotAlgorithms {
		for _, nodes := range []int{1, 4, 20} {
			t.Run(fmt.Sprintf("%s/%d nodes", test.name, nodes), func(t *testing.T) {
				t.Parallel()
				sum := hotKey{nodes, test.Algorithm, calm, lasts}.run(t)
				perThousand, atMost := 1000*float64(sum.requests)/float64(sum.takes), float64(sum.peak)/float64(nodes)
				t.Logf("%d of %d takes admitted, %.1f requests per 1000, up to %.0f in a second on a node",
					sum.admitted, sum.takes, perThousand, atMost)
				if perThousand > test.perThousand || atMost > test.atMost {
					t.Errorf("requests per 1000 takes, and in a second on a node = %.1f, %.0f, want at most %.0f, %.0f",
						perThousand, atMost, test.perThousand, test.atMost)
				}
				if share := float64(sum.admitted) / float64(test.admits); calm == 0 && share < 0.98 {
					t.Errorf("admitted = %.4f of what the limit allows, want 0.98 or more", share)
				}
			})
		}
	}
}
