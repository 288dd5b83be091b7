package memstore

import (
	"math"
	"testing"

	"github.com/fleetlimit/fleetlimit/limiter"
)

func TestCoarseSeconds(t *testing.T) {
	const last = math.MaxUint32
	for _, tt := range []struct {
		at        limiter.Instant
		in, after coarseSecond
	}{
		{-1 << 40, 0, 0},
		{-1, 0, 0},
		{0, 0, 1},
		{1<<20 - 1, 0, 1},
		{1 << 20, 1, 2},
		{last<<20 - 1, last - 1, last},
		{last << 20, last, last},
		{limiter.Never, last, last},
	} {
		if got := coarseSecondOf(tt.at); got != tt.in {
			t.Errorf("coarseSecondOf(%d) = %d, want %d", tt.at, got, tt.in)
		}
		if got := coarseSecondAfter(tt.at); got != tt.after {
			t.Errorf("coarseSecondAfter(%d) = %d, want %d", tt.at, got, tt.after)
		}
	}
}
