package lease

import (
	"math"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// TestHugeLeases grants far more than a node ever wants. A lease then holds as many events as fit,
// and so does a lease that was made of two.
func TestHugeLeases(t *testing.T) {
	const now, at = 1000 * sec, 6000 * sec
	r := mustRule(t, fixed, limiter.Limit{Events: limiter.MaxEvents, Window: time.Minute})
	a := accountAfter(r, now, at, 1, math.MaxUint32+10)
	if got := a.held(); got != math.MaxInt32 {
		t.Errorf("leased of a grant of 2^32 + 10 events = %d, want 2^31 - 1", got)
	}
	for i := range limiter.Instant(2) {
		at := at + i + 1
		a.request(r, now, 0, 0, new(limiter.LeaseRequest))
		a.applyReply(r, now, now, &limiter.LeaseRequest{
			Rule: r, Incarnation: 1, Granted: 7, Expires: at + 5*sec, Decision: limiter.Decision{OK: true, At: at}}, 0, false)
	}
	if got := a.held(); got != math.MaxInt32+7 {
		t.Errorf("leased after two more grants of 7 = %d, want 2^31 - 1 and the last 7", got)
	}
}

// TestNeedsRefillOnce checks that a low lease needs a refill, except while a request is under way.
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
