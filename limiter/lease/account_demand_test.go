package lease

import (
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// TestNeedsRefillOnce reports a low lease, except while a request is under way.
func TestNeedsRefillOnce(t *testing.T) {
	const now = 1000 * sec
	r := mustRule(t, fixed, limiter.Limit{Events: 100, Window: time.Minute})
	a := accountAfter(r, now, now, 5, 1)
	if a.take(r, now, 1, new(limiter.Decision)); !a.needsRefill(r, now, 2*ms) {
		t.Error("needs a refill after the last event of a lease = false, want true")
	}
	if a.request(r, now, 0, 0, new(limiter.LeaseRequest)); a.needsRefill(r, now, 2*ms) {
		t.Error("needs a refill while a request is under way = true, want false")
	}
	if a.requesting = false; !a.needsRefill(r, now, 2*ms) {
		t.Error("needs a refill after the request has failed = false, want true")
	}
}
