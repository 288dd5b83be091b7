package redisstore

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/limiter/concurrency"
	"github.com/fleetlimit/fleetlimit/limiter/concurrencytest"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// exchange returns the answer to a request.
func exchange(s *Store, q *concurrency.LeaseRequest) (g concurrency.Grant, err error) {
	done := make(chan struct{})
	s.Exchange(q, func(granted concurrency.Grant, failed error) {
		g, err = granted, failed
		close(done)
	})
	<-done
	return g, err
}

// TestPermitsAsRecords sends random requests to Redis and to its specification, and compares the
// answers.
func TestPermitsAsRecords(t *testing.T) {
	client := connect(t, standalone(t))
	for seed := range uint64(5) {
		r, s, records := rand.New(rand.NewPCG(seed, 0)), withClock(client), concurrencytest.Records{}
		now, overtakes := limiter.Instant(1_767_268_800_000_000), 0
		s.clock = func(limiter.Instant) string { return fmt.Sprint(int64(now)) }
		for sequence := range int64(300) {
			now += limiter.Instant(r.Int64N(5_000_000))
			q := &concurrency.LeaseRequest{
				Rule: 7, Key: "a{b}", Node: fmt.Sprint("node", r.IntN(5)), Sequence: sequence + 1, Limit: 20 + r.Int64N(20),
				Hold: max(0, r.Int64N(14)-4), Need: r.Int64N(4), Want: r.Int64N(9), Reserve: r.Int64N(12), Share: 1 + r.Int64N(4),
				Lifetime: time.Duration(1+r.Int64N(20)) * time.Second,
			}
			if r.IntN(10) == 0 { // a request that is late
				q.Sequence = r.Int64N(sequence + 1)
			}
			want, overtaken := records.Exchange(now, q)
			got, err := exchange(s, q)
			if got != want || (err != nil) != overtaken {
				t.Fatalf("seed %d: answer to %+v = %+v, %v, want %+v, overtaken = %t", seed, q, got, err, want, overtaken)
			}
			if overtaken {
				overtakes++
			}
		}
		if overtakes == 0 {
			t.Errorf("seed %d: no request was overtaken, so the history proves little", seed)
		}
	}
}

// TestPermitsExpire checks that Redis keeps nothing of permits that are returned, and nothing for
// ever. A foreign value in the hash is removed.
func TestPermitsExpire(t *testing.T) {
	redis := redistest.Shared(t).Client()
	s := New(connect(t, standalone(t)), "rl")
	q := concurrency.LeaseRequest{Rule: 1, Key: "key", Node: "a", Sequence: 1, Limit: 10, Need: 3, Share: 1, Lifetime: 14 * time.Second}
	name := permitsName("rl:{key}", 1)
	if err := redis.HSet(t.Context(), name, "b", "foreign").Err(); err != nil {
		t.Fatal(err)
	}
	if g, err := exchange(s, &q); err != nil || g != (concurrency.Grant{Permits: 3, Free: 7}) {
		t.Errorf("first answer = %+v, %v, want 3 of 10", g, err)
	}
	if n, ttl := redis.HLen(t.Context(), name).Val(), redis.PTTL(t.Context(), name).Val(); n != 1 || ttl <= 10*time.Second || ttl > 16*time.Second {
		t.Errorf("fields = %d, for %v, want 1 for 14 s or a little more", n, ttl)
	}
	q.Sequence, q.Need = 2, 0
	if g, err := exchange(s, &q); err != nil || g != (concurrency.Grant{Free: 10}) {
		t.Errorf("answer to a return = %+v, %v, want all 10 free", g, err)
	}
	if n := redis.Exists(t.Context(), name).Val(); n != 0 {
		t.Errorf("%s exists, want nothing after the return", name)
	}
}
