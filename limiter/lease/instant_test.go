package lease

import (
	"math"
	"testing"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// TestInstantPlus adds spans of time to instants, of which none is after never.
func TestInstantPlus(t *testing.T) {
	for _, test := range []struct {
		at   instant
		us   int64
		want instant
	}{
		{7, 3, 10},
		{7, -10, -3},
		{-7, 10, 3},
		{7, math.MaxInt64 - 8, never - 1},
		{7, math.MaxInt64 - 7, never},
		{7, math.MaxInt64 - 6, never},
		{never, 0, never},
		{never, 1, never},
		{0, math.MaxInt64, never},
		{-1, math.MaxInt64, never - 1},
	} {
		if got := test.at.plus(test.us); got != test.want {
			t.Errorf("instant(%d).plus(%d) = %d, want %d", test.at, test.us, got, test.want)
		}
		if test.want < never && test.want.since(test.at) != test.us {
			t.Errorf("instant(%d).since(%d) = %d, want %d", test.want, test.at, test.want.since(test.at), test.us)
		}
	}
}

// TestNeverForCaller shows the caller of a store what never comes as such.
func TestNeverForCaller(t *testing.T) {
	if got := never.forCaller(); got != limiter.Never {
		t.Errorf("never for a caller = %d, want %d", got, limiter.Never)
	}
}
