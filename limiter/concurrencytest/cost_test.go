package concurrencytest

import (
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/limiter/concurrency"
)

// TestHotKeySeldomAsks has about 500 requests of 100 ms in flight under a limit of 1000. Few of them
// need a call to the lender.
func TestHotKeySeldomAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, rule := newLender(1, fault{}), &concurrency.Rule{ID: 1, Limit: 1000}
		nodes := newFleet(l, 4, false)
		r := rand.New(rand.NewPCG(1, 1))
		var all sync.WaitGroup
		const requests = 50_000
		for range requests {
			time.Sleep(time.Duration(r.ExpFloat64() * float64(200*time.Microsecond)))
			n, lasts := nodes[r.IntN(len(nodes))], time.Duration(r.ExpFloat64()*float64(100*time.Millisecond))
			all.Go(func() {
				p, d, err := n.acquire(rule)
				if err != nil || !d.OK {
					t.Errorf("acquire = %+v, %v, want a permit", d, err)
					return
				}
				time.Sleep(lasts)
				p.Release(time.Now())
			})
		}
		all.Wait()
		closeAll(nodes)
		share := float64(l.calls) / requests
		t.Logf("%.3f %% of requests called the lender", 100*share)
		if share >= 0.01 {
			t.Errorf("%.2f %% of requests called the lender, want less than 1 %%", 100*share)
		}
	})
}

// TestCrash kills a node that uses all permits.
func TestCrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, rule := newLender(1, fault{}), &concurrency.Rule{ID: 1, Limit: 10}
		nodes := newFleet(l, 2, false)
		for range rule.Limit {
			if _, d, err := nodes[0].acquire(rule); err != nil || !d.OK {
				t.Fatalf("acquire = %+v, %v, want a permit", d, err)
			}
		}
		time.Sleep(time.Minute)
		if _, d, _ := nodes[1].acquire(rule); d.OK {
			t.Error("another node has got a permit while requests of a minute are in flight")
		}
		nodes[0].kill()
		time.Sleep(15*time.Second - time.Second) // Close has taken a second
		for _, err := range leaked(nodes[1], rule) {
			t.Errorf("15 s after the crash: %v", err)
		}
		closeAll(nodes[1:])
	})
}

// TestOutage cuts a node off. It uses what it has leased until the lender ends the lease, then its
// share of the limit, and counts its streams.
func TestOutage(t *testing.T) {
	for _, test := range []struct {
		mode limiter.OutageMode
		want int64 // requests in flight at most, with two nodes and a limit of 10
	}{{limiter.OutageLocal, 5}, {limiter.OutageOpen, 40}, {limiter.OutageClosed, 2}} {
		synctest.Test(t, func(t *testing.T) {
			l, rule := newLender(1, fault{}), &concurrency.Rule{ID: 1, Limit: 10, OnOutage: test.mode}
			nodes := newFleet(l, 2, false)
			for range 2 { // streams
				if _, _, err := nodes[0].acquire(rule); err != nil {
					t.Fatal(err)
				}
			}
			nodes[0].setCut(true)
			time.Sleep(concurrency.Lifetime)
			var got, degraded int64 = 2, 0
			for range 38 {
				_, d, err := nodes[0].acquire(rule)
				if d.OK {
					got++
				}
				if err != nil && d.Source == limiter.FromOutage {
					degraded++
				}
			}
			if got != test.want || degraded != 38 {
				t.Errorf("%v: %d requests in flight, %d decisions without the lender, want %d and 38", test.mode, got, degraded, test.want)
			}
			// The permits that the node had are free for others. Once it is back, its requests count, and it
			// may use what the other node has left.
			if _, d, err := nodes[1].acquire(rule); err != nil || !d.OK {
				t.Errorf("acquire on the other node = %+v, %v, want a permit", d, err)
			}
			nodes[0].setCut(false)
			time.Sleep(6 * time.Second)
			requests, leased := nodes[0].InFlight(time.Now(), rule, key)
			if requests != test.want || leased != min(test.want, rule.Limit-1) {
				t.Errorf("%v: %d requests with %d permits when the node is back, want %d", test.mode, requests, leased, test.want)
			}
			closeAll(nodes)
		})
	}
}
