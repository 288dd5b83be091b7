package memstore

import (
	"bytes"
	"math"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/limiter/internal/keyed"
)

func TestLayoutsDiffer(t *testing.T) {
	seen := make(map[uint16]limiter.Algorithm)
	add := func(a limiter.Algorithm) {
		f, _ := layoutOf(a)
		if other, ok := seen[f]; ok {
			t.Errorf("layout of %v = %d, which is that of %v", a, f, other)
		}
		seen[f] = a
	}
	for _, kind := range []limiter.Kind{limiter.TokenBucket, limiter.SlidingWindowLog, limiter.FixedWindow} {
		add(limiter.Algorithm{Kind: kind})
	}
	for n := 1; n <= limiter.MaxSubWindows; n++ {
		add(limiter.Algorithm{Kind: limiter.SlidingWindow, SubWindows: n})
	}
}

// everyLayout are algorithms whose counts have every length that matters: those in entries up to
// the longest, and spilled ones.
var everyLayout = []limiter.Algorithm{
	{Kind: limiter.TokenBucket},
	{Kind: limiter.FixedWindow},
	{Kind: limiter.SlidingWindow, SubWindows: 1},
	{Kind: limiter.SlidingWindow, SubWindows: 3},
	{Kind: limiter.SlidingWindow, SubWindows: 18},
	{Kind: limiter.SlidingWindow, SubWindows: 19},
	{Kind: limiter.SlidingWindowLog},
}

// everyLength returns keys of every length that matters, and for each key another one that differs
// in the last byte only.
func everyLength() (keys [][]byte) {
	for n := range keyed.MaxText + 3 {
		keys = append(keys, bytes.Repeat([]byte{'k'}, n))
	}
	keys = append(keys, bytes.Repeat([]byte{'k'}, math.MaxUint16), bytes.Repeat([]byte{'k'}, math.MaxUint16+1))
	for _, key := range keys[1:] {
		other := bytes.Clone(key)
		other[len(other)-1]++
		keys = append(keys, other)
	}
	return keys
}

// Counts and keys are side by side in entries of all lengths. None may overwrite another.
func TestEntriesDoNotOverlap(t *testing.T) {
	s, keys := open(t), everyLength()
	var rules []*limiter.Rule
	for i, a := range everyLayout {
		rules = append(rules, newRule(t, limiter.Rule{
			ID: uint32(i), Zone: s.Open("z"), Algorithm: a, Limit: limiter.Limit{Events: limiter.MaxEvents, Window: limiter.MaxWindow},
		}))
	}
	for round := range int64(3) {
		for _, r := range rules {
			for i, key := range keys {
				takes := []limiter.Take{{Rule: r, Key: key, Cost: int64(i) + 1}}
				_ = s.Take(t.Context(), start+limiter.Instant(i), takes)
				if got, want := limiter.MaxEvents-takes[0].Decision.Remaining, (round+1)*takes[0].Cost; got != want {
					t.Fatalf("%v: events used of key %d, of %d bytes = %d, want %d", r.Algorithm, i, len(key), got, want)
				}
			}
		}
	}
}

// When a later configuration gives a rule ID to another algorithm, it finds none of the old counts.
func TestSameRuleIDWithAnotherAlgorithm(t *testing.T) {
	s := open(t)
	for round := range int64(3) {
		for _, a := range everyLayout {
			r := newRule(t, limiter.Rule{ID: 1, Zone: s.Open("z"), Algorithm: a, Limit: limiter.Limit{Events: 3, Window: time.Hour}})
			if d := take(t, s, start, r, "key"); !d.OK || d.Remaining != 2-round {
				t.Errorf("take %d under %v: %+v, want OK with %d remaining", round+1, a, d, 2-round)
			}
			takes := []limiter.Take{{Rule: r, Key: []byte("other"), Cost: 1}}
			_ = s.Take(t.Context(), start, takes)
			_ = s.Refund(t.Context(), start, takes)
			if got := used(t, s, start, r, "other"); got != 0 {
				t.Errorf("events used after a refund under %v = %d, want 0", a, got)
			}
		}
	}
	if got, want := s.Open("z").Stats().Keys, 2*len(everyLayout); got != want {
		t.Errorf("keys = %d, want %d: two for each algorithm", got, want)
	}
}
