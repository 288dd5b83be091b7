//go:build linux

package main

import (
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

func TestProductsWithoutPeer(t *testing.T) {
	o, err := parseOptions([]string{"-caddy", "caddy"})
	if err != nil {
		t.Fatal(err)
	}
	if all := o.products(); len(all) != 2 || all[0].shares != nil || all[1].name != "fleetlimit" {
		t.Errorf("%d products without -peer, want Caddy without a limiter and fleetlimit", len(all))
	}
	if o.peer = "peer"; len(o.products()) != 4 {
		t.Errorf("%d products with -peer, want 4", len(o.products()))
	}
}

// A bucket admits its burst and the refill in the first window, a log the limit in each.
func TestExactlyFollowsTheAlgorithm(t *testing.T) {
	const window = time.Second
	arrivals := (&trial{shape: shape{keys: 1}, rate: 10 * shareLimit}).arrivals(0, 1, 2*window)
	for kind, want := range map[limiter.Kind][2]int64{
		limiter.TokenBucket: {2 * shareLimit, shareLimit}, limiter.SlidingWindowLog: {shareLimit, shareLimit},
	} {
		got, err := exactly(kind, arrivals, window)
		if err != nil {
			t.Fatal(err)
		}
		for w := range want {
			if n := got[w].Load(); n < want[w]-2 || n > want[w] {
				t.Errorf("%v admits %d in window %d, want about %d", kind, n, w, want[w])
			}
		}
	}
}
