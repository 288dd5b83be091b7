package main

import (
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/limiter/lease"
	"github.com/fleetlimit/fleetlimit/limiter/redisstore"
	"github.com/fleetlimit/fleetlimit/redisconn"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

func TestWaitsForTheStoreAreObserved(t *testing.T) {
	client := redisconn.New(redisconn.Options{Addresses: []string{redistest.Shared(t).Addr}, Timeout: patience})
	defer client.Close()
	n := &node{store: lease.New(redisstore.New(client, "rl"), lease.Options{Nodes: func() int { return 1 }, Timeout: patience})}
	defer n.store.Close()
	n.zone = n.store.Open("bench")
	tr := &trial{policy: leasing(limiter.FixedWindow), shape: shape{keys: 1}, window: time.Hour, limit: 1_000_000}
	if err := tr.prepare(0, tr.window, time.Second); err != nil {
		t.Fatal(err)
	}
	local := 0
	for range 1000 {
		var a answer
		n.take(tr, &arrival{}, time.Now(), &a)
		if a.verdict != admitted || a.source == limiter.FromStore && !a.waited {
			t.Fatalf("%+v: want it admitted, and the store's decisions to have waited", a)
		}
		if !a.waited {
			local++
		}
	}
	if local < 900 {
		t.Errorf("%d of 1000 takes did not wait, want most", local)
	}
}
