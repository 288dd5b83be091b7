package sim

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// randomTrace returns requests of one key: bursts, pauses, requests at a steady rate, and requests at
// one instant.
func randomTrace(rng *rand.Rand, cost int64) []Arrival {
	now := limiter.Instant(1_700_000_000_000_000 + rng.Int64N(60_000_000))
	requests := make([]Arrival, 1+rng.IntN(80))
	gap := 1 + rng.Int64N(3_000_000)
	for i := range requests {
		switch rng.IntN(12) {
		case 0:
			gap = 1 + rng.Int64N(3_000_000)
		case 1:
			now += limiter.Instant(rng.Int64N(120_000_000))
		case 2, 3:
		default:
			now += limiter.Instant(rng.Int64N(gap))
		}
		requests[i] = Arrival{At: now, Cost: 1 + rng.Int64N(cost)}
	}
	return requests
}

// admitsAll reports whether a limit admits all requests.
func admitsAll(t *testing.T, kind limiter.Kind, events int64, window time.Duration, requests []Arrival) bool {
	t.Helper()
	rule, err := limiter.NewRule(limiter.Rule{
		Algorithm: limiter.Algorithm{Kind: kind}, Limit: limiter.Limit{Events: events, Window: window},
	})
	if err != nil {
		t.Fatal(err)
	}
	replay := NewReplay(rule)
	for _, r := range requests {
		replay.Take(r)
	}
	return replay.Rejected == 0
}

// TestLeast compares each least limit with replays of all lower limits.
func TestLeast(t *testing.T) {
	for _, kind := range []limiter.Kind{limiter.TokenBucket, limiter.SlidingWindowLog, limiter.FixedWindow} {
		t.Run(kind.String(), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 2))
			for range 400 {
				cost := int64(1 + 4*rng.IntN(2))
				requests := randomTrace(rng, cost)
				window := time.Duration(1+rng.IntN(60_000)) * time.Millisecond
				least, _ := leastLimitsOf(kind, window.Microseconds())
				for _, r := range requests {
					least.add(r)
				}
				got := least.limits()[0]
				want := int64(1)
				for !admitsAll(t, kind, want, window, requests) {
					want++
				}
				if got != want && (kind != limiter.TokenBucket || got >= cost || got < want) {
					t.Fatalf("least limit = %d, want %d, of costs up to %d in %v: %v", got, want, cost, window, requests)
				}
			}
		})
	}
}
