package redisstore

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/limiter/leasetest"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// TestNearFullBesidePartsAndSetAside cancels takes of a bucket whose limit is lowered and raised
// again while parts of it are open. Then its value has only one byte to say since when the bucket
// is not near to being full. A take from before the limit was lowered gets back nothing that may
// have refilled. A later take may get all its events back, as the specification says.
func TestNearFullBesidePartsAndSetAside(t *testing.T) {
	redis, client := redistest.Shared(t).Client(), connect(t, standalone(t))
	rng := rand.New(rand.NewPCG(1, 17))
	whole := map[bool]int{}
	for range 200 {
		s, r := withClock(client), leasable(t, limiter.Algorithm{})
		lowered, err := limiter.NewRule(limiter.Rule{ID: r.ID, Limit: limiter.Limit{Events: 12, Window: time.Minute}})
		if err != nil {
			t.Fatal(err)
		}
		now, ledger := limiter.Instant(1_800_000_000_000_000+rng.Int64N(1<<40)), leasetest.NewLedger(r.Algorithm)
		incarnation := lend(t, s, now, limiter.LeaseRequest{Rule: r}).Incarnation
		step := func(after int64, l limiter.LeaseRequest) limiter.LeaseRequest {
			t.Helper()
			now += limiter.Instant(after)
			l.Incarnation = incarnation
			if l.Rule == nil {
				l.Rule = r
			}
			want := []limiter.LeaseRequest{l}
			got := lend(t, s, now, l)
			leasetest.Lend(incarnation, now, []*leasetest.Ledger{ledger}, want)
			if w := want[0]; got.Decision != w.Decision || got.Served != w.Served || got.Granted != w.Granted || got.Held != w.Held {
				t.Fatalf("at %d: got %+v, %d served, %d held, want %+v, %d, %d",
					now, got.Decision, got.Served, got.Held, w.Decision, w.Served, w.Held)
			}
			return got
		}
		cancel := func(l limiter.LeaseRequest) limiter.LeaseRequest {
			return limiter.LeaseRequest{Cancel: limiter.Events{At: l.Decision.At, N: l.Served}}
		}
		step(0, limiter.LeaseRequest{Need: 400, Want: 20})
		step(10_000, cancel(step(0, limiter.LeaseRequest{Need: 1})))
		before := step(20_000, limiter.LeaseRequest{Need: 2})
		step(rng.Int64N(500_000), limiter.LeaseRequest{Rule: lowered, Cancel: limiter.Events{At: now, N: 1}})
		value := redis.HGet(t.Context(), hashName(s.prefix, []byte("key")), field(r.ID)).Val()
		if len(value) != 64 {
			t.Fatalf("length of the value = %d, want 64", len(value))
		}
		after := step(20_000, limiter.LeaseRequest{Need: 2})
		later := step(20_000+rng.Int64N(1_000_000), limiter.LeaseRequest{Need: 2})
		now += 2_000_000
		for _, l := range []limiter.LeaseRequest{before, after, later} {
			left := step(0, limiter.LeaseRequest{}).Decision.Remaining
			back := step(0, cancel(l)).Decision.Remaining - left
			if l.Decision.At == before.Decision.At && back != 0 {
				t.Errorf("got %d back of a take from before the limit was lowered, want 0", back)
			}
			if l.Decision.At == later.Decision.At {
				whole[back == 2]++
			}
		}
	}
	if whole[true] == 0 {
		t.Errorf("canceled whole = %v, want some", whole)
	}
}
