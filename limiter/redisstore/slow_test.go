package redisstore

import (
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/redisconn"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// TestSlowReplies has replies that take most of the timeout. Takes are answered, also those that
// are rolled back in a second round, and so are lease requests. A lease request is reported as
// written long before its reply.
func TestSlowReplies(t *testing.T) {
	const timeout = 400 * time.Millisecond
	const delay = timeout * 3 / 4
	p := redistest.NewProxy(t, redistest.Shared(t).Addr)
	client := redisconn.New(redisconn.Options{Addresses: []string{p.Addr}, Timeout: timeout})
	t.Cleanup(client.Close)
	s := New(client, "slow")
	r := mustRule(t, 1, limiter.Algorithm{Kind: limiter.FixedWindow}, limiter.Limit{Events: 2, Window: 24 * time.Hour})
	takes := func(keys ...string) (all []limiter.Take) {
		for _, key := range keys {
			all = append(all, limiter.Take{Rule: r, Key: []byte(key), Cost: 1})
		}
		return all
	}
	for deadline := time.Now().Add(patience); s.Peek(t.Context(), 0, takes("a")) != nil; {
		if time.Now().After(deadline) {
			t.Fatal("the server does not answer")
		}
	}
	p.Delay(delay)
	for i, left := range []int64{1, 0} {
		a := takes("a")
		if err := s.Take(t.Context(), 0, a); err != nil || a[0].Decision.Remaining != left {
			t.Errorf("take %d = %+v, %v, want %d remaining", i+1, a[0].Decision, err, left)
		}
	}
	both := takes("a", "b")
	if err := s.Take(t.Context(), 0, both); err != nil || both[0].Decision.OK || both[1].Decision.Remaining != 2 {
		t.Errorf("a take of two keys = %+v, %v, want the first denied and 2 remaining of the second", both, err)
	}
	if err := s.Peek(t.Context(), 0, both); err != nil || both[1].Decision.Remaining != 2 {
		t.Errorf("after a take that was rolled back: %+v, %v, want 2 remaining", both[1].Decision, err)
	}
	var written time.Time // set twice if Redis does not know the script at first
	done := make(chan error, 1)
	requests := []limiter.LeaseRequest{{Rule: r, Key: []byte("b"), Need: 1}}
	s.Lend(requests, func() { written = time.Now() }, func(err error) { done <- err })
	if err := <-done; err != nil || requests[0].Served != 1 {
		t.Errorf("a lease request: served %d, %v, want 1", requests[0].Served, err)
	}
	if took := time.Since(written); took < delay*9/10 {
		t.Errorf("the request was reported as written %v before the reply, want %v", took, delay)
	}
}
