package redisstore

import (
	"fmt"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// TestBucketIsKeptForNextLimit checks that the bucket of a temporary limit lives until it is full
// under the limit that follows, even if a lease request was the last call.
func TestBucketIsKeptForNextLimit(t *testing.T) {
	redis := redistest.Shared(t).Client()
	s := New(connect(t, standalone(t)), "kept")
	for i, tc := range []struct {
		keepFor, wait time.Duration
		cost          int64
		lease         bool
		atLeast, most time.Duration // the time to live
	}{
		{cost: 300, atLeast: 29 * time.Second, most: 34 * time.Second},
		{keepFor: 2 * time.Minute, cost: 300, atLeast: 119 * time.Second, most: 135 * time.Second},
		{keepFor: 2 * time.Minute, cost: 300, wait: time.Second, atLeast: 119 * time.Second, most: 135 * time.Second},
		{keepFor: 2 * time.Minute, cost: 300, lease: true, atLeast: 119 * time.Second, most: 6 * time.Minute},
		{keepFor: time.Second, cost: 300, atLeast: 29 * time.Second, most: 34 * time.Second},
	} {
		r, err := limiter.NewRule(limiter.Rule{
			ID: 1, Limit: limiter.Limit{Events: 600, Window: time.Minute}, KeepFor: tc.keepFor, MaxWait: tc.wait,
		})
		if err != nil {
			t.Fatal(err)
		}
		key := fmt.Sprint("key", i)
		if tc.lease {
			key = "key"
			lend(t, s, 0, limiter.LeaseRequest{Rule: r, Need: tc.cost, Want: 100})
		} else {
			take(t, s, r, key, tc.cost)
		}
		if got := redis.PTTL(t.Context(), "kept:{"+key+"}").Val(); got < tc.atLeast || got > tc.most {
			t.Errorf("%d: the time to live is %v, want %v to %v", i, got, tc.atLeast, tc.most)
		}
	}
}

// TestDenialKeepsBucket has an override deny a key. The key lives for KeepFor, because its bucket
// goes on under the limit that follows the override.
func TestDenialKeepsBucket(t *testing.T) {
	redis := redistest.Shared(t).Client()
	s := New(connect(t, standalone(t)), "denied")
	take(t, s, mustRule(t, 1, limiter.Algorithm{}, limiter.Limit{Events: 600, Window: time.Minute}), "key", 600)
	r, err := limiter.NewRule(limiter.Rule{ID: 1, Limit: limiter.Limit{Events: 6000, Window: time.Minute, Burst: 1}, KeepFor: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	if d := take(t, s, r, "key", 1); d.OK {
		t.Fatalf("a take beyond the burst is allowed: %+v", d)
	}
	if got := redis.PTTL(t.Context(), "denied:{key}").Val(); got < 59*time.Minute {
		t.Errorf("the time to live is %v, want an hour", got)
	}
}
