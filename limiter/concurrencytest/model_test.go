package concurrencytest

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/limiter/concurrency"
)

// A flight is a request in flight.
type flight struct {
	node *node

	// exempt means that the limit does not bound it: its node was cut off from the lender meanwhile,
	// or the lender had lost records that the nodes had not repaired yet.
	exempt bool
}

// A checker knows all requests in flight, and checks that they do not exceed the limit.
type checker struct {
	mu       sync.Mutex
	limit    int
	flights  map[*flight]bool
	repaired time.Time // when records that were lost are complete again
	most     int
	began    int
	errs     []error
}

// begin notes that a node has admitted a request, without the lender if err is not nil.
func (c *checker) begin(n *node, err error) *flight {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := &flight{node: n, exempt: err != nil || n.isCut() || time.Now().Before(c.repaired)}
	c.flights[f] = true
	c.began++
	bounded := 0
	for f := range c.flights {
		if !f.exempt {
			bounded++
		}
	}
	if c.most = max(c.most, bounded); bounded > c.limit {
		c.errs = append(c.errs, fmt.Errorf("%d requests are in flight, want at most %d", bounded, c.limit))
	}
	return f
}

func (c *checker) end(f *flight) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.flights, f)
}

// exempt notes that the limit does not bound the requests in flight on n, or on all nodes if n is nil.
func (c *checker) exempt(n *node) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for f := range c.flights {
		f.exempt = f.exempt || n == nil || f.node == n
	}
}

// killed notes that the requests of a node have ended.
func (c *checker) killed(n *node) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for f := range c.flights {
		if f.node == n {
			delete(c.flights, f)
		}
	}
}

// repairedWithin is the time after a failover in which all nodes have told the lender what they hold:
// they renew leases every 4 s, at a beat that comes each second, and a lost call is noticed after a
// second.
const repairedWithin = 11 * time.Second

// play plays a random history of requests on four nodes, which crash, are cut off and lose calls,
// while the lender fails over. It returns what the checker has found.
func play(t *testing.T, seed uint64, requests int, f fault) *checker {
	c := &checker{limit: 10, flights: make(map[*flight]bool)}
	synctest.Test(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(seed, 0))
		l, rule := newLender(seed, f), &concurrency.Rule{ID: 1, Limit: int64(c.limit)}
		nodes := newFleet(l, 4, true)
		long := time.Duration(1+r.IntN(400)) * time.Millisecond // up to four times what the limit admits
		var all sync.WaitGroup
		burst := 0 // how many requests follow at once, on one node
		for i := range requests {
			if burst == 0 {
				time.Sleep(time.Duration(r.ExpFloat64() * float64(10*time.Millisecond)))
			}
			switch at := r.IntN(len(nodes)); r.IntN(300) {
			case 0: // crash
				c.killed(nodes[at])
				nodes[at].kill()
				nodes[at] = newNode(l, len(nodes), true)
			case 1: // a cut for 30 s at most
				n, cut := nodes[at], !nodes[at].isCut()
				n.setCut(cut)
				c.exempt(n)
				if cut {
					lasts := time.Duration(r.IntN(30_000)) * time.Millisecond
					time.AfterFunc(lasts, func() { c.exempt(n); n.setCut(false) })
				}
			case 2:
				l.save()
			case 3: // a failover
				if l.saved != nil && i%2 == 0 {
					l.fail()
					c.exempt(nil)
					c.mu.Lock()
					c.repaired = time.Now().Add(repairedWithin)
					c.mu.Unlock()
				}
			}
			n := nodes[r.IntN(len(nodes))]
			switch {
			case burst > 0:
				n, burst = nodes[0], burst-1
			case r.IntN(200) == 0: // silence, in which only streams are in flight
				time.Sleep(time.Duration(r.IntN(20_000)) * time.Millisecond)
				burst = 20
			}
			lasts := time.Duration(r.ExpFloat64() * float64(long))
			if r.IntN(100) == 0 {
				lasts *= 100 // a stream
			}
			wait := time.Duration(max(0, r.IntN(1000)-500)) * time.Millisecond // half of the requests do not wait
			all.Go(func() {
				p, d, err := n.acquire(rule)
				if !d.OK && wait > 0 {
					p, d, err = n.acquireInTurn(rule, wait)
				}
				if !d.OK {
					return
				}
				if n.isDead() {
					p.Release(time.Now())
					return
				}
				flight := c.begin(n, err)
				time.Sleep(lasts)
				c.end(flight)
				p.Release(time.Now())
			})
		}
		all.Wait()
		nodes[0].setCut(false)
		for _, n := range nodes[1:] {
			n.kill()
		}
		time.Sleep(concurrency.Lifetime + 2*time.Second)
		c.errs = append(c.errs, leaked(nodes[0], rule)...)
		closeAll(nodes[:1])
		synctest.Wait()
	})
	return c
}

// leaked returns an error unless n gets all permits and no more.
func leaked(n *node, rule *concurrency.Rule) (errs []error) {
	n.setLossy(false)
	var held []concurrency.Permit
	for range rule.Limit {
		p, d, err := n.acquire(rule)
		if err != nil || !d.OK {
			errs = append(errs, fmt.Errorf("permit %d of %d: %+v, %v, want it", len(held)+1, rule.Limit, d, err))
			break
		}
		held = append(held, p)
	}
	if _, d, _ := n.acquire(rule); d.OK && len(errs) == 0 {
		errs = append(errs, fmt.Errorf("a permit above the limit"))
	}
	for _, p := range held {
		p.Release(time.Now())
	}
	return errs
}

func (k *link) isDead() bool {
	select {
	case <-k.closed:
		return true
	default:
		return false
	}
}

// TestPermitsAboveTheLimit has a node hold permits above the limit, for requests that it has admitted
// while the lender did not answer. When such a request ends, no other request may take its place.
func TestPermitsAboveTheLimit(t *testing.T) {
	r, now := Records{}, limiter.At(time.Unix(0, 0))
	exchange := func(node string, sequence, hold, need int64) concurrency.Grant {
		g, _ := r.Exchange(now, &concurrency.LeaseRequest{Node: node, Sequence: sequence, Limit: 10, Hold: hold, Need: need, Share: 1, Lifetime: time.Second})
		return g
	}
	exchange("a", 1, 0, 8)
	for sequence, held := range []int64{4, 3, 2} {
		if g := exchange("b", int64(sequence+1), held, 1); g.Permits != 10-8 || r["b"].Permits != held {
			t.Errorf("%d held beside 8 of 10: %d may be used and %d are recorded, want %d and %d", held, g.Permits, r["b"].Permits,
				10-8, held)
		}
	}
}

// TestModel plays random histories.
func TestModel(t *testing.T) {
	began, most := 0, 0
	for seed := range uint64(50) {
		c := play(t, seed, 1000, fault{})
		for _, err := range c.errs {
			t.Errorf("seed %d: %v", seed, err)
		}
		began, most = began+c.began, max(most, c.most)
	}
	t.Logf("%d requests began, at most %d at once", began, most)
	if most < 10 {
		t.Errorf("at most %d requests were in flight, want some history to reach the limit", most)
	}
}

// TestPlantedFaults has the checker find mistakes.
func TestPlantedFaults(t *testing.T) {
	for name, f := range map[string]fault{
		"uses what it returns":        {request: func(q *concurrency.LeaseRequest) { q.Hold = max(0, q.Hold-1) }},
		"grants one too many":         {grant: func(q *concurrency.LeaseRequest, g *concurrency.Grant) { g.Permits += min(q.Need, 1) }},
		"ends leases early":           {request: func(q *concurrency.LeaseRequest) { q.Lifetime /= 5 }},
		"executes overtaken requests": {anyOrder: true},
		"counts one too few":          {request: func(q *concurrency.LeaseRequest) { q.Limit++ }},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(200) {
				if c := play(t, seed, 1000, f); len(c.errs) > 0 {
					t.Logf("found by seed %d", seed)
					return
				}
			}
			t.Error("no history finds it")
		})
	}
}
