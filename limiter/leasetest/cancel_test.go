package leasetest

import (
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// TestCancelBesideParts cancels events of a bucket that was full beside what its parts hold, after it
// has refilled in their place: it must not have more than without them. It lacks what the parts hold
// all the time, which is no room for the refill.
func TestCancelBesideParts(t *testing.T) {
	type step struct {
		at limiter.Instant // after the beginning
		limiter.LeaseRequest
	}
	const vain = 1 // the step whose need is canceled by the last one
	for _, test := range []struct {
		name  string
		limit limiter.Limit
		steps []step
		want  int64 // left in the end
		exact int64 // left if the canceled events had never been served
	}{
		{
			"at once", limiter.Limit{Events: 100, Window: time.Second},
			[]step{{0, limiter.LeaseRequest{Want: 10}}, {0, limiter.LeaseRequest{Need: 4}}, {}}, 90, 90,
		},
		{
			"refilled", limiter.Limit{Events: 100, Window: time.Second},
			[]step{
				{0, limiter.LeaseRequest{Want: 10}}, {0, limiter.LeaseRequest{Need: 4}},
				{20 * ms, limiter.LeaseRequest{Need: 3}}, {at: 40 * ms},
			}, 87, 89,
		},
		{
			"lacking more", limiter.Limit{Events: 100, Window: time.Second},
			[]step{
				{0, limiter.LeaseRequest{Need: 20, Want: 10}}, {0, limiter.LeaseRequest{Need: 4}},
				{20 * ms, limiter.LeaseRequest{Need: 3}}, {at: 40 * ms},
			}, 71, 71,
		},
		{
			"of a bucket that was given something back before", limiter.Limit{Events: 1000, Window: 100 * time.Second},
			[]step{
				{0, limiter.LeaseRequest{Need: 100, Want: 100}}, {10 * sec, limiter.LeaseRequest{Need: 8}},
				{10*sec + 500*ms, limiter.LeaseRequest{Need: 20}}, {at: 11 * sec},
			}, 882, 885,
		},
	} {
		r, g := mustRule(limiter.Rule{Limit: test.limit}), NewLedger(bucket)
		first := lendOne(g, 1, epoch, limiter.LeaseRequest{Rule: r, Need: 1})
		lendOne(g, 1, epoch, limiter.LeaseRequest{
			Rule: r, Incarnation: 1, Cancel: limiter.Events{At: epoch, N: 1}, Lacked: first.LackedAfter(),
		})
		var canceled, got limiter.LeaseRequest
		for i, s := range test.steps {
			s.Rule, s.Incarnation = r, 1
			if i == len(test.steps)-1 {
				s.Cancel, s.Lacked = limiter.Events{At: canceled.Decision.At, N: canceled.Served}, canceled.LackedAfter()
			}
			if got = lendOne(g, 1, epoch+s.at, s.LeaseRequest); got.Served != s.Need || s.Want > 0 && got.Held != s.Want {
				t.Fatalf("%s: step %d: served %d, %d held, want %d and %d", test.name, i, got.Served, got.Held, s.Need, s.Want)
			}
			if i == vain {
				canceled = got
			}
		}
		if left := got.Decision.Remaining; left != test.want || left > test.exact {
			t.Errorf("%s: left = %d, want %d, and at most %d", test.name, left, test.want, test.exact)
		}
	}
}
