package response

import (
	"testing"

	"github.com/fleetlimit/fleetlimit/limiter"
)

func TestOutweighs(t *testing.T) {
	closed := &Policy{Rule: &limiter.Rule{OnOutage: limiter.OutageClosed}}
	result := func(failure error, wait limiter.Instant) *Result {
		return &Result{Policy: closed, Failure: failure, Decision: limiter.Decision{RetryAt: wait}}
	}
	for _, test := range []struct {
		a, b *Result
		want bool
	}{
		{result(nil, 1), result(limiter.ErrLate, 2), true},
		{result(limiter.ErrLate, 2), result(nil, 1), false},
		{result(nil, 2), result(nil, 1), true},
		{result(limiter.ErrLate, 1), result(limiter.ErrLate, 2), false},
	} {
		if got := test.a.Outweighs(test.b); got != test.want {
			t.Errorf("outweighs(%+v, %+v) = %v, want %v", test.a, test.b, got, test.want)
		}
	}
}
