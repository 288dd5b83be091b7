package redisstore

import (
	"fmt"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/redisconn"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// TestOnePrimaryHangs pauses one primary of a cluster. Only the takes of its keys fail. Another
// primary still denies, and what it consumes stays consumed.
func TestOnePrimaryHangs(t *testing.T) {
	cluster := redistest.SharedCluster(t)
	client := redisconn.New(redisconn.Options{Mode: redisconn.Cluster, Addresses: cluster.Addrs, Timeout: 200 * time.Millisecond})
	t.Cleanup(client.Close)
	s := New(client, "hang")
	r := mustRule(t, 1, limiter.Algorithm{Kind: limiter.FixedWindow}, limiter.Limit{Events: 3, Window: 24 * time.Hour})

	hung, live := "hung", ""
	for i := 0; live == ""; i++ {
		if key := fmt.Sprint("live", i); cluster.Primary(hashName("hang", []byte(key))) != cluster.Primary(hashName("hang", []byte(hung))) {
			live = key
		}
	}
	request := func() []limiter.Take {
		return []limiter.Take{{Rule: r, Key: []byte(hung), Cost: 1}, {Rule: r, Key: []byte(live), Cost: 1}}
	}
	for deadline := time.Now().Add(patience); s.Peek(t.Context(), 0, request()) != nil; {
		if time.Now().After(deadline) {
			t.Fatal("the cluster does not answer")
		}
	}
	primary := cluster.Primary(hashName("hang", []byte(hung)))
	primary.Pause()
	defer primary.Resume()
	answers := make(chan error)
	s.Lend([]limiter.LeaseRequest{{Rule: r, Key: []byte(hung), Need: 1}}, nil, func(err error) { answers <- err })
	for i, left := range []int64{2, 1, 0, 0} {
		takes := request()
		err := s.Take(t.Context(), 0, takes)
		if err == nil || takes[0].Err != err || takes[1].Err != nil {
			t.Fatalf("take %d = %v, with errors %v and %v, want one of the first alone", i+1, err, takes[0].Err, takes[1].Err)
		}
		if d := takes[1].Decision; d.OK != (i < 3) || d.Remaining != left {
			t.Errorf("take %d of the live key = %+v, want OK %v with %d remaining", i+1, d, i < 3, left)
		}
	}
	if err := <-answers; err == nil {
		t.Error("a lease request of the hung key has no error, want one")
	}
}
