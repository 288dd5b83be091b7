package lease

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// TestCloseZoneReturnsLeases closes a zone with leases. Close returns only after the leases are
// returned. The zone is empty when it is opened again.
func TestCloseZoneReturnsLeases(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		r, other := n.fixed("zone", 1, 10_000), n.fixed("a", 2, 10_000)
		taken := make(map[string]int64)
		for i := range 20 {
			key := fmt.Sprint("key", i)
			taken[key] = n.warm(r, key)
		}
		n.warm(other, "key")
		leased, zone := n.leased(other, "key"), n.zoneOf(r)
		zone.Close()
		zone.Close() // a second Close has no effect
		if got := zone.accounts.Len(); got != 0 {
			t.Errorf("accounts of the zone that was closed = %d, want none", got)
		}
		for key, want := range taken {
			n.checkUsed(r, key, want)
		}
		n.checkAccounts(1)
		if got := n.leased(other, "key"); got != leased {
			t.Errorf("leased in another zone after Close = %d, want %d", got, leased)
		}
		r = n.reopened(r)
		if n.Open("zone") != r.Zone {
			t.Error("another zone was opened beside one of the same name")
		}
		n.allowed(r, "key1", 1, limiter.FromStore)
		n.checkAccounts(2)
	})
}

// TestCloseZoneWaitsForRequests closes a zone while its account has a request under way. The
// waiters are decided, and the lease in the reply is returned.
func TestCloseZoneWaitsForRequests(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		r := n.fixed("zone", 1, 10_000)
		taken := n.warm(r, "key") // the next request wants a lease too
		n.lender.decide(func([]limiter.LeaseRequest) (fate, time.Duration) { return answered, 20 * time.Millisecond })
		var wg sync.WaitGroup
		wg.Go(func() { n.allowed(r, "key", 500, limiter.FromStore) })
		time.Sleep(time.Millisecond)
		wg.Go(func() { n.allowed(r, "key", 600, limiter.FromStore) })
		time.Sleep(time.Millisecond)
		begin := time.Now()
		n.Open("zone").Close()
		if took := time.Since(begin); took < 38*time.Millisecond || took > 50*time.Millisecond {
			t.Errorf("Close took %v, want it to wait for two replies, at most as long as a take", took)
		}
		wg.Wait()
		n.checkAccounts(0)
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		n.checkUsed(r, "key", taken+1100)
	})
}

// TestTakeInClosedZone has the lender decide takes of a closed zone.
func TestTakeInClosedZone(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		r := n.fixed("zone", 1, 10)
		zone := n.zoneOf(r)
		n.Open("zone").Close()
		n.allowed(r, "key", 1, limiter.FromStore)
		n.Close()
		n.allowed(r, "key", 1, limiter.FromStore)
		n.Close()

		// A take may have found the zone just before it closed. It adds no account.
		p := n.locationOf(r, "key")
		p.shard.Lock()
		defer p.shard.Unlock()
		if _, ok, _ := p.addLocked(r, n.now()); ok || zone.accounts.Len() != 0 {
			t.Errorf("an account was added to a closed zone, which has %d", zone.accounts.Len())
		}
		n.checkUsed(r, "key", 2)
	})
}

// TestZoneClosedBetweenSteps closes a zone between two steps of a take. If the take does not wait
// yet, the lender decides it. Nothing is refilled.
func TestZoneClosedBetweenSteps(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		r := n.fixed("zone", 1, 10)
		n.Open("zone").Close()
		q := n.newTakeSet(takeOf(r, "key", 1))
		k := &q.takes[0]
		if n.round(t.Context(), q); k.Err != nil || k.state != allowed {
			t.Errorf("take = %+v in state %d, want it in %d: decided by the lender", k.Take, k.state, allowed)
		}
		n.refill(k, q.now)
		if got := n.Stats().Requests; got != 1 {
			t.Errorf("requests of a closed zone = %d, want that of the take", got)
		}
	})
}

// TestTakeInClosedZoneFails has the lender fail a take of a closed zone. What the takes of other
// zones have taken stays taken.
func TestTakeInClosedZoneFails(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		closed, open := n.fixed("a", 1, 10), n.fixed("b", 2, 10)
		n.Open("a").Close()
		n.lender.decide(func(requests []limiter.LeaseRequest) (fate, time.Duration) {
			if requests[0].Rule == closed {
				return lostRequest, rtt
			}
			return answered, rtt
		})
		n.fails(errCut, takeOf(closed, "key", 1), takeOf(open, "key", 1))
		n.waitForReturns()
		n.checkUsed(open, "key", 1)
	})
}
