package limiter

import (
	"math/rand/v2"
	"testing"
	"time"
)

// TestAddQuotaGivesBackNewest plays random histories twice: with quota that is added now and then,
// and without. Exactly the added quota is given back, as far as that much was consumed. After that,
// the key never has less left than without quota, and at most the added quota more.
func TestAddQuotaGivesBackNewest(t *testing.T) {
	for _, a := range every {
		t.Run(a.name, func(t *testing.T) {
			for seed := range uint64(200) {
				rng := rand.New(rand.NewPCG(seed, 21))
				r := mustNew(Rule{Algorithm: a.Algorithm, Limit: Limit{
					Events: oneOf[int64](rng, 1, 2, 7, 20, 1009),
					Window: oneOf(rng, 300*time.Millisecond, time.Second, 7*time.Second, time.Minute),
					Burst:  oneOf[int64](rng, 0, 0, 1, 5, 50),
				}})
				with, without, now, added := NewCount(a.Algorithm), NewCount(a.Algorithm), begins, int64(0)
				for i := range 300 {
					now += Instant(rng.Int64N(1 + oneOf(rng, 1, 3, r.window/r.Limit.Events, r.window)))
					cost := oneOf(rng, 1, 1, 2, 1+rng.Int64N(r.capacity))
					if without.Peek(r, now, cost).OK {
						without.Take(r, now, cost)
						if d := with.Take(r, now, cost); !d.OK {
							t.Fatalf("seed %d, step %d, %+v at %d: %+v, but it is allowed without quota", seed, i, r.Limit, now, d)
						}
					}
					if rng.IntN(10) == 0 {
						n := oneOf(rng, 1, 2, 1+rng.Int64N(r.capacity), 2*r.capacity)
						before := with.Inspect(r, now)
						with.AddQuota(r, now, n)
						after := with.Inspect(r, now)
						want := max(0, before.Consumed-n)
						if after.Consumed != want || after.Remaining != r.capacity-want || after.ResetAt > before.ResetAt {
							t.Fatalf("seed %d, step %d, %+v at %d: %+v after %d were added, and before it %+v",
								seed, i, r.Limit, now, after, n, before)
						}
						added += before.Consumed - after.Consumed
					}
					got, least := with.Inspect(r, now).Remaining, without.Inspect(r, now).Remaining
					if got < least || got > least+added {
						t.Fatalf("seed %d, step %d, %+v at %d: remaining = %d, want %d to %d", seed, i, r.Limit, now, got, least, least+added)
					}
				}
			}
		})
	}
}

// TestInspectChangesNothing inspects one of two equal counts.
func TestInspectChangesNothing(t *testing.T) {
	for _, a := range every {
		rng := rand.New(rand.NewPCG(5, 21))
		r := mustNew(Rule{Algorithm: a.Algorithm, Limit: Limit{Events: 20, Window: time.Second}})
		inspected, other, now := NewCount(a.Algorithm), NewCount(a.Algorithm), begins
		for range 500 {
			now += Instant(rng.Int64N(r.window / 10))
			c := inspected.Inspect(r, now)
			cost := 1 + rng.Int64N(5)
			if d := other.Peek(r, now, 1); c != stateOf(d, c.Consumed) || c.Remaining != max(0, c.Limit-c.Consumed) {
				t.Fatalf("%s: inspected %+v, want %+v", a.name, c, d)
			}
			if got, want := inspected.Take(r, now, cost), other.Take(r, now, cost); got != want {
				t.Fatalf("%s: take after an inspection %+v, want %+v", a.name, got, want)
			}
		}
	}
}
