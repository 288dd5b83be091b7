package sim

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// bruteForce returns the number of keys that a limit rejects, by a replay of that limit.
func bruteForce(t *testing.T, rule limiter.Rule, requests []Arrival) int {
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

// TestKeyCurve compares the curve, which is found in one pass, with a replay of each limit. It uses
// 1000 random traces: limits of three algorithms, and bursts at one rate.
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

func keysOf(requests []Arrival) func(func(Key) bool) {
	return func(yield func(Key) bool) {
		for _, r := range requests {
			if !yield(r.Key) {
				return
			}
		}
	}
}

// TestKeyCurveIsBounded has more least limits than a curve may show. The points that stay are exact.
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

func TestLeastFor(t *testing.T) {
	many := slices.Repeat([]int64{5}, 1998)
	for _, test := range []struct {
		needs []int64
		want  int64
	}{
		{nil, 0},
		{[]int64{9}, 0},          // a limit rejects either all keys or none
		{[]int64{550, 550}, 0},   // a limit rejects either all keys or none
		{[]int64{10, 550}, 10},   // 10 rejects one key
		{[]int64{551, 553}, 551}, // 551 rounded up would reject no key
		{[]int64{1, 101, 35_000}, 110},
		{append(slices.Clone(many), 551, 553), 5}, // 5 rejects two of 2000 keys
	} {
		if got := leastFor(test.needs); got != test.want {
			t.Errorf("least for %d keys = %d, want %d", len(test.needs), got, test.want)
		}
	}
}

// The least limits of a sliding window are not known, only the outcomes of the limits that were tried.
func TestFewKeysOfTriedLimits(t *testing.T) {
	var requests []Arrival
	for i := range limiter.Instant(300) {
		requests = append(requests, Arrival{At: 1_000_000 + i, Key: Key(min(i%100, 1)), Cost: 1})
	}
	sliding := limiter.Algorithm{Kind: limiter.SlidingWindow, SubWindows: 1}
	rule := limiter.Rule{Algorithm: sliding, Limit: limiter.Limit{Events: 5, Window: time.Minute}}
	if r := study(t, Options{Rule: rule}, requests); r.Recommends == nil || r.Recommends.Events != 5 {
		t.Errorf("recommended = %v, want 5, under which one of two keys is rejected", r.Recommends)
	}
	if r := study(t, Options{Rule: rule, Candidates: []limiter.Limit{{Events: 1000, Window: time.Minute}}}, requests[:1]); r.Recommends != nil {
		t.Errorf("recommended = %v for one key, want none", r.Recommends)
	}
}
