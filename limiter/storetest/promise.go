package storetest

import (
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// testPromiseAfterReset checks that the promise of a take from before a reset does not come back. Else two
// takes that were promised after the reset would have one turn. Stores that promise nothing pass.
func testPromiseAfterReset(o *operatorTest) {
	promiser, is := o.Store.(limiter.Promiser)
	if !is || !o.algorithm.Kind.Promises() {
		return
	}
	r := newRule(o.T, limiter.Rule{
		ID: 1, Zone: o.zone, Algorithm: o.algorithm, Limit: limiter.Limit{Events: 10, Window: time.Second, Burst: 1}, MaxWait: time.Second,
	})
	// promised takes an event that may wait, and checks how many tenths of a second it waits for.
	promised := func(now limiter.Instant, tenths int64) limiter.Take {
		o.Helper()
		takes := []limiter.Take{{Rule: r, Key: []byte("key"), Cost: 1, Wait: r.MaxWait.Microseconds()}}
		if err := promiser.Take(o.Context(), now, takes); err != nil {
			o.Fatal(err)
		}
		want := limiter.Instant(0)
		if tenths > 0 {
			want = now + limiter.Instant(tenths)*second/10
		}
		if d := takes[0].Decision; !d.OK || d.Turn != want {
			o.Errorf("take that waits: %+v, want the turn %d", d, want)
		}
		return takes[0]
	}
	var newest limiter.Take
	for tenths := range int64(4) {
		newest = promised(start, tenths)
	}
	o.reset(start, r, "key")
	promised(start+1, 0)
	promised(start+1, 1)
	if back, err := promiser.GiveBack(o.Context(), start+1, &newest); back || err != nil {
		o.Errorf("a promise from before the reset was given back: %t, %v", back, err)
	}
	promised(start+1, 2)
}
