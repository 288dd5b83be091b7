package response

import (
	"testing"

	"github.com/fleetlimit/fleetlimit/limiter"
)

func TestOutweighs(t *testing.T) {
	closed := &Policy{Rule: &limiter.Rule{OnOutage: limiter.OutageClosed}}
	result := func(outage bool, wait limiter.Instant) *Result {
		return &Result{Policy: closed, Outage: outage, Decision: limiter.Decision{RetryAt: wait}}
	}
	for _, test := range []struct {
		a, b *Result
		want bool
	}{
		{result(false, 1), result(true, 2), true},
		{result(true, 2), result(false, 1), false},
		{result(false, 2), result(false, 1), true},
		{result(true, 1), result(true, 2), false},
	} {
		if got := test.a.Outweighs(test.b); got != test.want {
			t.Errorf("outweighs(%+v, %+v) = %v, want %v", test.a, test.b, got, test.want)
		}
	}
}
