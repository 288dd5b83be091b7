package fleet_test

import (
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
// deviation of 0.1 %. The bound of 1 % is nine standard deviations above that.
func TestRealFleet(t *testing.T) {
	const nodes, keys, perSecond, seconds = 20, 10, 2000, 5
	for _, a := range []limiter.Algorithm{{Kind: limiter.TokenBucket}, {Kind: limiter.FixedWindow}} {
		t.Run(a.Kind.String(), func(t *testing.T) {
			rule := limiter.Rule{Algorithm: a, Limit: limiter.Limit{Events: 100, Window: time.Second}}
			requests, admitted := realFleet(t, rule, nodes, keys, perSecond, seconds)
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
			t.Logf("%d admitted of %d, in the simulation %d: %.2f %% otherwise; %+v", admitted, len(requests), got.Admitted, 100*off, got)
			if off > 0.01 {
				t.Errorf("%d admitted in the simulation, want the %d of real nodes within 1 %%", got.Admitted, admitted)
			}
		})
	}
}

// realFleet sends requests to random nodes. It returns the requests, and how many of them were
// admitted.
func realFleet(t *testing.T, rule limiter.Rule, nodes, keys, perSecond, seconds int) (requests []sim.Request, admitted int64) {
	t.Helper()
	server := redistest.Shared(t)
	stores, rules := make([]*lease.Store, nodes), make([]*limiter.Rule, nodes)
	for i := range nodes {
		client := redisconn.New(redisconn.Options{Addresses: []string{server.Addr}, Timeout: 5 * time.Second})
		defer client.Close()
		stores[i] = lease.New(redisstore.New(client, "rl"), lease.Options{Nodes: func() int { return nodes }, Timeout: 5 * time.Second})
		defer stores[i].Close()
		r := rule
		r.ID, r.Zone = 1, stores[i].Open("api")
		var err error
		if rules[i], err = limiter.NewRule(r); err != nil {
			t.Fatal(err)
		}
		take(t, stores[i], rules[i], 1000) // makes the connection
	}
	rng := rand.New(rand.NewPCG(1, 2))
	var all sync.WaitGroup
	var ok atomic.Int64
	began := time.Now()
	for next := began; next.Sub(began) < time.Duration(seconds)*time.Second; {
		next = next.Add(time.Duration(rng.ExpFloat64() * float64(time.Second) / float64(perSecond)))
		<-time.After(time.Until(next))
		i, key := rng.IntN(nodes), rng.IntN(keys)*rng.IntN(keys)/keys
		requests = append(requests, sim.Request{At: limiter.At(time.Now()), Key: sim.Key(key), Cost: 1})
		all.Go(func() {
			if take(t, stores[i], rules[i], key) {
				ok.Add(1)
			}
		})
	}
	all.Wait()
	slices.SortFunc(requests, func(a, b sim.Request) int { return int(a.At - b.At) })
	return requests, ok.Load()
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
