package lease

import (
	"fmt"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// TestCloseReturnsManyLeases returns more leases than are drained at a time.
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
