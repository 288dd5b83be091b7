package zone

import (
	"testing"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/limiter"
)

func TestMultiply(t *testing.T) {
	for _, tc := range []struct {
		n          int64
		multiplier float64
		want       int64
	}{
		{100, 1.1, 110}, {100, 1.001, 101}, {100, 5, 500}, {1, 0.001, 1}, {3, 0.5, 2}, {0, 5, 0}, {30, 0.1, 3},
		{limiter.MaxEvents, 2, 2 * limiter.MaxEvents}, {7, 1, 7}, {1000, 0.07, 70},
	} {
		if got := multiply(tc.n, tc.multiplier); got != tc.want {
			t.Errorf("%d * %v = %d, want %d", tc.n, tc.multiplier, got, tc.want)
		}
	}
	blocked := times(&config.Limit{Block: true}, 3)
	if *blocked != (config.Limit{Block: true}) {
		t.Errorf("block multiplied = %+v, want block", *blocked)
	}
}
