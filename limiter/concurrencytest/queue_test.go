package concurrencytest

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/limiter/concurrency"
)

func (n *node) acquireInTurn(r *concurrency.Rule, wait time.Duration) (concurrency.Permit, limiter.Decision, error) {
	return n.AcquireInTurn(context.Background(), time.Now(), r, key, wait)
}

// TestTurnOnAnotherNode has a request wait while all permits are in use on another node.
func TestTurnOnAnotherNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, rule := newLender(1, fault{}), &concurrency.Rule{ID: 1, Limit: 10}
		nodes := newFleet(l, 2, false)
		var held []concurrency.Permit
		for range rule.Limit {
			p, _, _ := nodes[0].acquire(rule)
			held = append(held, p)
		}
		if _, d, _ := nodes[1].acquireInTurn(rule, 200*time.Millisecond); d.OK {
			t.Error("a request above the limit was admitted after its wait")
		}
		time.AfterFunc(300*time.Millisecond, func() { held[0].Release(time.Now()) })
		p, d, err := nodes[1].acquireInTurn(rule, time.Second)
		if waited := p.Waited(); err != nil || !d.OK || waited < 300*time.Millisecond || waited > 360*time.Millisecond {
			t.Errorf("acquire = %+v, %v after %v, want a permit within 60 ms of its release", d, err, waited)
		}
		p.Release(time.Now())
		for _, p := range held[1:] {
			p.Release(time.Now())
		}
		closeAll(nodes)
	})
}

// TestNoQueueInOutage cuts a node off while requests wait on it.
func TestNoQueueInOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, rule := newLender(1, fault{}), &concurrency.Rule{ID: 1, Limit: 2, OnOutage: limiter.OutageClosed}
		nodes := newFleet(l, 2, false)
		for range rule.Limit {
			if _, d, _ := nodes[0].acquire(rule); !d.OK {
				t.Fatal("a request below the limit was denied")
			}
		}
		time.AfterFunc(time.Second, func() { nodes[0].setCut(true) })
		began := time.Now()
		_, d, err := nodes[0].acquireInTurn(rule, time.Minute)
		if lasted := time.Since(began); d.OK || err == nil || lasted > 3*time.Second {
			t.Errorf("a request that waits in an outage = %+v, %v after %v, want a denial within 2 s of its begin", d, err, lasted)
		}
		began = time.Now()
		_, d, err = nodes[0].acquireInTurn(rule, time.Minute)
		if lasted := time.Since(began); d.OK || err == nil || lasted > 0 {
			t.Errorf("a request in an outage = %+v, %v after %v, want a denial at once", d, err, lasted)
		}
		closeAll(nodes)
	})
}

// TestWaitsUseAllPermits sends a fleet a fifth more requests than its limit admits, and has all
// requests wait.
func TestWaitsUseAllPermits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, rule := newLender(1, fault{}), &concurrency.Rule{ID: 1, Limit: 10}
		nodes := newFleet(l, 4, false)
		r := rand.New(rand.NewPCG(1, 1))
		var all sync.WaitGroup
		var mu sync.Mutex
		const requests, lasts = 6000, 100 * time.Millisecond // the limit admits 100 requests a second
		admitted, began := 0, time.Now()
		for range requests {
			time.Sleep(time.Duration(r.ExpFloat64() * float64(time.Second/120)))
			n := nodes[r.IntN(len(nodes))]
			all.Go(func() {
				p, d, err := n.acquireInTurn(rule, 500*time.Millisecond)
				if err != nil || !d.OK {
					return
				}
				mu.Lock()
				admitted++
				mu.Unlock()
				time.Sleep(lasts)
				p.Release(time.Now())
			})
		}
		all.Wait()
		possible := time.Since(began).Seconds() * 100
		closeAll(nodes)
		synctest.Wait()
		t.Logf("%d of %.0f admitted, %.2f calls each", admitted, possible, float64(l.calls)/requests)
		if share := float64(admitted) / possible; share < 0.9 || share > 1 {
			t.Errorf("admitted = %.3f of what the limit admits, want at least 0.9", share)
		}
	})
}
