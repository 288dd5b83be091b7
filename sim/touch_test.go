package sim

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// bruteForce returns how many keys a limit rejects, by a replay of that limit alone.
func bruteForce(t *testing.T, rule limiter.Rule, requests []Request) int {
	t.Helper()
	r, err := limiter.NewRule(rule)
	if err != nil {
		t.Fatal(err)
	}
	replay := NewReplay(r)
	for _, request := range requests {
		replay.Take(request)
	}
	return replay.KeysRejected
}

// TestKeyCurve compares the curve that is found in one pass with a replay of each limit, on 1000
// random traces: limits of three algorithms, and bursts at one rate.
func TestKeyCurve(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	kinds := []limiter.Kind{limiter.TokenBucket, limiter.SlidingWindowLog, limiter.FixedWindow, limiter.TokenBucket}
	for i := range 1000 {
		rule := limiter.Rule{
			Algorithm: limiter.Algorithm{Kind: kinds[i%4]},
			Limit:     limiter.Limit{Events: 1 + rng.Int64N(30), Window: time.Duration(1+rng.IntN(60)) * time.Second},
		}
		tried := &rule.Limit.Events
		if i%4 == 3 {
			rule.Limit.Burst = 1 + rng.Int64N(20)
			tried = &rule.Limit.Burst
		}
		requests := requestsOfKeys(rng, 1+rng.IntN(3))
		curve := study(t, Options{Rule: rule, Candidates: []limiter.Limit{}}, requests).KeyCurve
		got, next := len(slices.Compact(slices.Sorted(keysOf(requests)))), 0
		for limit := int64(1); next < len(curve); limit++ {
			if c := curve[next].Limit; i%4 == 3 && c.Burst == limit || i%4 != 3 && c.Events == limit {
				got = curve[next].KeysRejected
				next++
			}
			*tried = limit
			if want := bruteForce(t, rule, requests); got != want {
				t.Fatalf("trace %d: %v rejects %d keys, want %d, of curve %v", i, rule.Limit, got, want, curve)
			}
		}
		if got != 0 {
			t.Fatalf("trace %d: the last limit of the curve rejects %d keys, want none: %v", i, got, curve)
		}
	}
}

func keysOf(requests []Request) func(func(Key) bool) {
	return func(yield func(Key) bool) {
		for _, r := range requests {
			if !yield(r.Key) {
				return
			}
		}
	}
}

// TestKeyCurveIsBounded has more least limits than a curve shows: the points that stay are exact.
func TestKeyCurveIsBounded(t *testing.T) {
	var all []KeyPoint
	for i := range 10 * maxKeyPoints {
		all = append(all, KeyPoint{Limit{Events: int64(1 + i*i)}, 10*maxKeyPoints - 1 - i})
	}
	kept := thinned(slices.Clone(all), false)
	if len(kept) > maxKeyPoints || len(kept) < maxKeyPoints/4 || kept[len(kept)-1] != all[len(all)-1] {
		t.Errorf("%d points, the last is %v: want at most %d and %v", len(kept), kept[len(kept)-1], maxKeyPoints, all[len(all)-1])
	}
	for _, p := range kept {
		if !slices.Contains(all, p) {
			t.Errorf("%v is no point of the curve", p)
		}
	}
}

func TestRecommended(t *testing.T) {
	for _, test := range []struct{ least, want Limit }{
		{Limit{Events: 99}, Limit{Events: 99}},
		{Limit{Events: 101}, Limit{Events: 110}},
		{Limit{Events: 12_300, Burst: 1001}, Limit{Events: 12_300, Burst: 1100}},
	} {
		got := recommended([]Touch{{Limit: Limit{Events: 1}}, {KeysShare: recommendedShare, Limit: test.least}})
		if got == nil || *got != test.want {
			t.Errorf("least %v: recommended %v, want %v", test.least, got, test.want)
		}
	}
	if got := recommended(nil); got != nil {
		t.Errorf("nothing was found, recommended %v", got)
	}
}
