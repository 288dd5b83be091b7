package memstore

import (
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// perMinute returns a rule with the ID 1 in zone "z" of s that has room for 100 keys.
func perMinute(t *testing.T, s *Store, events int64, kind limiter.Kind, keepFor time.Duration) *limiter.Rule {
	t.Helper()
	return newRule(t, limiter.Rule{
		ID: 1, Zone: s.Open("z"), MaxKeys: 100, Algorithm: limiter.Algorithm{Kind: kind}, KeepFor: keepFor,
		Limit: limiter.Limit{Events: events, Window: time.Minute},
	})
}

// takeAll takes n events of key at once.
func takeAll(t *testing.T, s *Store, now limiter.Instant, r *limiter.Rule, key string, n int64) {
	t.Helper()
	takes := []limiter.Take{{Rule: r, Key: []byte(key), Cost: n}}
	if err := s.Take(t.Context(), now, takes); err != nil || !takes[0].Decision.OK {
		t.Fatalf("take of %d events: %+v, %v, want it allowed", n, takes[0].Decision, err)
	}
}

// A bucket of 600 per minute that lacks 300 events is full after 30 s. Under 60 per minute, it
// lacks 120 at most, so it has one event after 61 s, and is full after two minutes.
func TestCountOutlastsLoweredLimit(t *testing.T) {
	for _, tc := range []struct {
		name    string
		changed limiter.Instant // when the limit changes, in s after the take; negative if it does not
		keepFor time.Duration
		kind    limiter.Kind
		remain  int64 // events of 60 that remain 100 s after the take
		keys    int   // number of keys 100 s after the take
	}{
		{name: "no change", changed: -1, remain: 60},
		{name: "before it is full", changed: 10, remain: 40, keys: 1},
		{name: "after it was full", changed: 35, remain: 60},
		{name: "a rule for a while", changed: -1, keepFor: 2 * time.Minute, remain: 40, keys: 1},
		{name: "a window", changed: 10, kind: limiter.FixedWindow, remain: 60},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := open(t)
			high, low := perMinute(t, s, 600, tc.kind, tc.keepFor), perMinute(t, s, 60, tc.kind, 0)
			takeAll(t, s, start, high, "key", 300)
			for at := limiter.Instant(0); at <= 100; at += 5 {
				if at == tc.changed {
					s.Open("z").LimitsChanged(start+at*second, func(id uint32, key []byte) []*limiter.Rule {
						if id != 1 || string(key) != "key" {
							t.Errorf("rules of %d, %q are asked for, want those of 1, key", id, key)
						}
						return []*limiter.Rule{high, low}
					})
				}
				s.sweep(start + at*second)
			}
			if got := s.Open("z").Stats().Keys; got != tc.keys {
				t.Errorf("keys after 100 s = %d, want %d", got, tc.keys)
			}
			if got := 60 - used(t, s, start+100*second, low, "key"); got != tc.remain {
				t.Errorf("remaining after 100 s = %d, want %d", got, tc.remain)
			}
			s.sweep(start + 200*second)
			if got := s.Open("z").Stats().Keys; got != 0 {
				t.Errorf("keys after 200 s = %d, want 0", got)
			}
		})
	}
}

// If there are two changes between two sweeps, the sweep goes by the instant of the first change.
func TestSweepSeesFirstOfSeveralChanges(t *testing.T) {
	s := open(t)
	high, low := perMinute(t, s, 600, limiter.TokenBucket, 0), perMinute(t, s, 60, limiter.TokenBucket, 0)
	takeAll(t, s, start, high, "key", 300)
	rules := func(uint32, []byte) []*limiter.Rule { return []*limiter.Rule{low} }
	s.Open("z").LimitsChanged(start+10*second, rules)
	s.Open("z").LimitsChanged(start+35*second, rules)
	s.sweep(start + 70*second)
	if got := s.Open("z").Stats().Keys; got != 1 {
		t.Errorf("keys = %d, want 1: it was not full at the first change", got)
	}
}
