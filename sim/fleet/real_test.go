package fleet_test

import (
	"context"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/limiter/lease"
	"github.com/fleetlimit/fleetlimit/limiter/redisstore"
	"github.com/fleetlimit/fleetlimit/redisconn"
	"github.com/fleetlimit/fleetlimit/sim"
	"github.com/fleetlimit/fleetlimit/sim/fleet"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// TestRealFleet sends 2,000 requests a second to twenty real nodes that share a Redis, and replays
// these requests through a simulated fleet. Each fleet chooses its nodes at random, and a real node
// decides a moment later. So the two differ in 0.1 % of the admitted requests, with a standard
// deviation of 0.1 %. The bound of 1 % is nine standard deviations above that. While other programs
// have the processors, real nodes decide late, and the simulation does not know that. So the bound grows
// by the share of the time in which a reference was late by a hundredth of the window.
func TestRealFleet(t *testing.T) {
	const nodes, keys, perSecond, seconds = 20, 10, 2000, 5
	for _, a := range []limiter.Algorithm{{Kind: limiter.TokenBucket}, {Kind: limiter.FixedWindow}} {
		t.Run(a.Kind.String(), func(t *testing.T) {
			rule := limiter.Rule{Algorithm: a, Limit: limiter.Limit{Events: 100, Window: time.Second}}
			requests, admitted, late := realFleet(t, rule, nodes, keys, perSecond, seconds)
			simulated, err := fleet.New(fleet.Options{Rule: rule, Nodes: nodes, RoundTrip: time.Millisecond, Seed: 1}, fleet.None)
			if err != nil {
				t.Fatal(err)
			}
			defer simulated.Close()
			for _, r := range requests {
				simulated.Add(r)
			}
			got := simulated.Outcome()
			off := math.Abs(float64(got.Admitted-admitted)) / float64(admitted)
			t.Logf("%d admitted of %d, in the simulation %d: %.2f %% otherwise; late %.2f %%; %+v",
				admitted, len(requests), got.Admitted, 100*off, 100*late, got)
			if most := 0.01 + late; off > most {
				t.Errorf("%d admitted in the simulation, want the %d of real nodes within %.2f %%", got.Admitted, admitted, 100*most)
			}
		})
	}
}

// realFleet sends requests to random nodes. It returns the requests, with the instants at which their
// nodes began to decide, how many of them were admitted, and for which share of the time the machine was
// late.
func realFleet(t *testing.T, rule limiter.Rule, nodes, keys, perSecond, seconds int) (
	requests []sim.Arrival, admitted int64, late float64,
) {
	t.Helper()
	server := redistest.Shared(t)
	stores, rules := make([]*lease.Store, nodes), make([]*limiter.Rule, nodes)
	ctx, stop := context.WithCancel(t.Context())
	var recalls sync.WaitGroup
	for i := range nodes {
		client := redisconn.New(redisconn.Options{Addresses: []string{server.Addr}, Timeout: 5 * time.Second})
		defer client.Close()
		counts := redisstore.New(client, "rl")
		stores[i] = lease.New(counts, lease.Options{Nodes: func() int { return nodes }, Timeout: 5 * time.Second})
		defer stores[i].Close()
		recalls.Go(func() { counts.Recalls(ctx, stores[i].Recall) })
		r := rule
		r.ID, r.Zone = 1, stores[i].Open("api")
		var err error
		if rules[i], err = limiter.NewRule(r); err != nil {
			t.Fatal(err)
		}
		take(t, stores[i], rules[i], 1000) // makes the connection
	}
	defer recalls.Wait()
	defer stop()
	rng := rand.New(rand.NewPCG(1, 2))
	var all sync.WaitGroup
	var ok atomic.Int64
	var mu sync.Mutex // guards requests
	length := time.Duration(seconds) * time.Second
	began := time.Now()
	all.Go(func() {
		client := server.Client()
		for due := began; due.Sub(began) < length; due = time.Now().Add(5 * time.Millisecond) {
			<-time.After(time.Until(due))
			_ = client.Ping(t.Context()).Err() // an error takes its time, too
			if took := time.Since(due); took > rule.Limit.Window/100 {
				late += took.Seconds() / length.Seconds()
			}
		}
	})
	for next := began; next.Sub(began) < length; {
		next = next.Add(time.Duration(rng.ExpFloat64() * float64(time.Second) / float64(perSecond)))
		<-time.After(time.Until(next))
		i, key := rng.IntN(nodes), rng.IntN(keys)*rng.IntN(keys)/keys
		all.Go(func() {
			mu.Lock()
			requests = append(requests, sim.Arrival{At: limiter.At(time.Now()), Key: sim.Key(key), Cost: 1})
			mu.Unlock()
			if take(t, stores[i], rules[i], key) {
				ok.Add(1)
			}
		})
	}
	all.Wait()
	slices.SortFunc(requests, func(a, b sim.Arrival) int { return int(a.At - b.At) })
	return requests, ok.Load(), late
}

// take takes one event of a key, and reports whether it was admitted.
func take(t *testing.T, s *lease.Store, r *limiter.Rule, key int) bool {
	t.Helper()
	takes := []limiter.Take{{Rule: r, Key: binary.LittleEndian.AppendUint32(nil, uint32(key)), Cost: 1}}
	if err := s.Take(t.Context(), s.Now(), takes); err != nil {
		t.Error(err)
	}
	return takes[0].Decision.OK
}
