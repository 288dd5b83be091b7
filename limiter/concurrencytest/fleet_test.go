package concurrencytest

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/limiter/concurrency"
)

// A lender records the permits of one key. Calls to it take a while on the clock of the bubble.
type lender struct {
	mu      sync.Mutex
	records Records
	saved   Records // what a replica has
	rand    *rand.Rand
	fault   fault
	calls   int
}

// A fault is a planted mistake, which the checker must find.
type fault struct {
	request  func(*concurrency.LeaseRequest)
	grant    func(*concurrency.LeaseRequest, *concurrency.Grant)
	anyOrder bool // the lender ignores sequences
}

func newLender(seed uint64, f fault) *lender {
	return &lender{records: Records{}, rand: rand.New(rand.NewPCG(seed, 1)), fault: f}
}

// exchange answers q now.
func (l *lender) exchange(q concurrency.LeaseRequest) (concurrency.Grant, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls++
	if l.fault.request != nil {
		l.fault.request(&q)
	}
	if l.fault.anyOrder {
		if held, found := l.records[q.Node]; found {
			held.Sequence = 0
			l.records[q.Node] = held
		}
	}
	g, overtaken := l.records.Exchange(limiter.At(time.Now()), &q)
	if overtaken {
		return g, errors.New("overtaken")
	}
	if l.fault.grant != nil {
		l.fault.grant(&q, &g)
	}
	return g, nil
}

func (l *lender) intN(n int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.rand.IntN(n)
}

// save copies the records to the replica, and fail makes the replica the primary.
func (l *lender) save() { l.mu.Lock(); l.saved = maps.Clone(l.records); l.mu.Unlock() }
func (l *lender) fail() { l.mu.Lock(); l.records = maps.Clone(l.saved); l.mu.Unlock() }

// roundTrip is how long a call takes.
const roundTrip = 500 * time.Microsecond

var errCut = errors.New("the node is cut off")

// A link is how a node reaches the lender.
type link struct {
	*lender

	state  sync.Mutex
	lossy  bool // calls and replies may be lost, and calls may be executed late
	cut    bool
	closed chan struct{} // closed when the node is killed
}

func (k *link) isCut() bool { k.state.Lock(); defer k.state.Unlock(); return k.cut }
func (k *link) setCut(cut bool) {
	k.state.Lock()
	k.cut = cut
	k.state.Unlock()
}

// luck says what becomes of the next call: see Exchange.
func (k *link) luck() int {
	k.state.Lock()
	defer k.state.Unlock()
	if !k.lossy {
		return 100
	}
	return k.intN(100)
}

func (k *link) setLossy(lossy bool) {
	k.state.Lock()
	k.lossy = lossy
	k.state.Unlock()
}

// Exchange implements concurrency.Lender.
func (k *link) Exchange(r *concurrency.LeaseRequest, answered func(concurrency.Grant, error)) {
	q, luck := *r, k.luck()
	go func() {
		select {
		case <-k.closed:
			answered(concurrency.Grant{}, errCut)
			return
		case <-time.After(roundTrip / 2):
		}
		switch {
		case k.isCut(), luck == 0: // lost
			time.Sleep(time.Second)
			answered(concurrency.Grant{}, errCut)
			return
		case luck <= 4: // executed after the connection was closed
			time.Sleep(time.Second)
			answered(concurrency.Grant{}, errCut)
			time.Sleep(time.Duration(k.intN(3000)) * time.Millisecond)
			if !k.isDead() {
				_, _ = k.exchange(q)
			}
			return
		}
		g, err := k.exchange(q)
		if time.Sleep(roundTrip / 2); luck == 5 || k.isCut() { // the reply is lost
			g, err = concurrency.Grant{}, errCut
			time.Sleep(time.Second)
		}
		answered(g, err)
	}()
}

// Refusal implements concurrency.Lender.
func (k *link) Refusal([]byte) error {
	if k.isCut() {
		return errCut
	}
	return nil
}

// A node is a node of the fleet.
type node struct {
	*concurrency.Limiter
	*link
}

func newNode(l *lender, nodes int, lossy bool) *node {
	k := &link{lender: l, lossy: lossy, closed: make(chan struct{})}
	count := func() int { return nodes }
	return &node{concurrency.New(concurrency.Options{Lender: k, Nodes: count}), k}
}

// kill ends a node, which returns no permits.
func (n *node) kill() {
	close(n.closed)
	n.Close()
}

var key = []byte("key")

func (n *node) acquire(r *concurrency.Rule) (concurrency.Permit, limiter.Decision, error) {
	return n.Acquire(context.Background(), time.Now(), r, key)
}

func newFleet(l *lender, n int, lossy bool) []*node {
	all := make([]*node, n)
	for i := range all {
		all[i] = newNode(l, n, lossy)
	}
	return all
}

func closeAll(nodes []*node) {
	for _, n := range nodes {
		n.Close()
	}
	time.Sleep(10 * time.Second) // until no call is on its way
}

// TestMovingTraffic keeps a number of requests in flight. When one ends, the next begins on any node.
// The fleet has permits for all of them, so that each denial is wrong.
func TestMovingTraffic(t *testing.T) {
	for _, inFlight := range []int{5, 8} {
		for _, mean := range []time.Duration{20 * time.Millisecond, 200 * time.Millisecond} {
			synctest.Test(t, func(t *testing.T) {
				l, rule := newLender(1, fault{}), &concurrency.Rule{ID: 1, Limit: 10}
				nodes := newFleet(l, 4, false)
				var wrong, all int
				var mu sync.Mutex
				var workers sync.WaitGroup
				for worker := range inFlight {
					r := rand.New(rand.NewPCG(2, uint64(worker)))
					workers.Go(func() {
						time.Sleep(time.Duration(r.IntN(int(mean))))
						for range 10_000 / inFlight {
							n := nodes[r.IntN(len(nodes))]
							p, d, err := n.acquire(rule)
							mu.Lock()
							if all++; !d.OK {
								wrong++
							}
							mu.Unlock()
							if err != nil {
								t.Errorf("acquire: %v", err)
							}
							time.Sleep(time.Duration(r.ExpFloat64() * float64(mean)))
							if d.OK {
								p.Release(time.Now())
							}
						}
					})
				}
				workers.Wait()
				closeAll(nodes)
				synctest.Wait()
				share := float64(wrong) / float64(all)
				t.Logf("%d in flight for %v: %.2f %% of %d rejected, %.2f calls each", inFlight, mean, 100*share, all,
					float64(l.calls)/float64(all))
				if share >= 0.005 {
					t.Errorf("rejected = %.2f %%, want less than 0.5 %%", 100*share)
				}
			})
		}
	}
}
