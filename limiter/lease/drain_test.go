package lease

import (
	"fmt"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// TestCloseReturnsManyLeases closes a store with more leases than one batch drains.
func TestCloseReturnsManyLeases(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		const keys = 3 * drainSize
		r := n.fixed("zone", 1, 1000)
		for i := range keys {
			n.grant(r, fmt.Sprint("key", i), 5)
		}
		begin := time.Now()
		n.Close()
		if took := time.Since(begin); took > 10*rtt {
			t.Errorf("Close took %v, want a few times %v", took, rtt)
		}
		for i := range keys {
			n.checkUsed(r, fmt.Sprint("key", i), 0)
		}
	})
}

// TestCloseGivesUp closes a store whose lender does not reply.
func TestCloseGivesUp(t *testing.T) {
	for _, delay := range []time.Duration{time.Hour, 900 * time.Millisecond} {
		inBubble(t, Options{Timeout: time.Second}, func(t *testing.T, n node) {
			r := n.fixed("zone", 1, 1000)
			for i := range 15 * drainSize {
				n.grant(r, fmt.Sprint("key", i), 5)
			}
			n.lender.decide(func([]limiter.LeaseRequest) (fate, time.Duration) { return lostRequest, delay })
			begin := time.Now()
			n.Close()
			want := min(drainFor, n.options.Timeout)
			if delay < n.options.Timeout {
				want = drainFor
			}
			if took := time.Since(begin); took < want || took > want+delay && delay < time.Hour {
				t.Errorf("Close with replies after %v took %v, want %v", delay, took, want)
			}
		})
	}
}

// TestEndLeasingOfBucket ends leasing on a node that has a part of a bucket. The node gets no other
// part.
func TestEndLeasingOfBucket(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		r := n.rule(limiter.Rule{ID: 1, Limit: limiter.Limit{Events: 6000, Window: time.Minute}})
		takeFor := func(d time.Duration) {
			for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
				n.take(r, "key", 1)
			}
		}
		takeFor(20 * time.Second)
		if n.leased(r, "key") == 0 {
			t.Fatal("nothing is leased")
		}
		n.EndLeasing()
		takeFor(30 * time.Second) // until the part has ended
		n.allowed(r, "key", 1, limiter.FromStore)
		if n.leased(r, "key") > 0 {
			t.Error("a part was granted after EndLeasing")
		}
	})
}

// TestEndLeasing has keys in steady use when their node is about to end. The node spends its
// leases, gets no others, and returns the rest when it is closed.
func TestEndLeasing(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		busy, idle := n.fixed("zone", 1, 100_000), n.fixed("zone", 2, 100_000)
		taken := n.warm(busy, "key")
		n.grant(idle, "key", 10)
		n.EndLeasing()
		n.waitForReplies() // a refill may have been under way
		granted, leased, first := n.Stats().Granted, n.leased(busy, "key"), n.Stats().Requests
		if leased == 0 {
			t.Fatal("nothing is leased")
		}
		for range leased {
			n.allowed(busy, "key", 1, limiter.FromLease)
		}
		if n := n.Stats().Requests - first; n > 1 {
			t.Errorf("requests while the leases last = %d, want at most one", n)
		}
		for range 100 {
			n.allowed(busy, "key", 1, limiter.FromStore)
			time.Sleep(10 * time.Millisecond)
		}
		if got := n.Stats().Granted; got != granted {
			t.Errorf("events leased after EndLeasing = %d, want none", got-granted)
		}
		n.Close()
		n.checkUsed(busy, "key", taken+leased+100)
		n.checkUsed(idle, "key", 0)
	})
}
