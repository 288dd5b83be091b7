package sim

import (
	"slices"
	"testing"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// TestRequestQueue pops requests in the order of their instants, and requests at one instant in the
// order in which they were pushed.
func TestRequestQueue(t *testing.T) {
	var q RequestQueue[int64]
	var want []int64
	for i := range int64(200) {
		q.Push(Arrival{At: limiter.Instant(i * 7919 % 50)}, i)
		want = append(want, i*7919%50*1000+i)
	}
	slices.Sort(want)
	for _, w := range want {
		if r, i := q.Pop(); int64(r.At)*1000+i != w {
			t.Fatalf("popped request %d of instant %d, want %d", i, r.At, w)
		}
	}
}
