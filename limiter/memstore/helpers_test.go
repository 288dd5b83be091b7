package memstore

import (
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// start is when the tests with instants of their own begin: 2026-01-01T00:00:00Z.
const start limiter.Instant = 1_767_225_600_000_000

const second limiter.Instant = 1_000_000

// open returns a store to be closed when the test ends. Its janitor never comes: it goes by the
// real clock, where the instants of the tests have long passed.
func open(tb testing.TB) *Store {
	tb.Helper()
	s := New(Options{SweepInterval: 365 * 24 * time.Hour})
	tb.Cleanup(s.Close)
	return s
}

// hourly returns a rule with the ID 1 and this limit per hour in zone "z" of s, in which there is
// room for maxKeys.
func hourly(tb testing.TB, s *Store, events int64, maxKeys int) *limiter.Rule {
	tb.Helper()
	return newRule(tb, limiter.Rule{
		ID: 1, Zone: s.Open("z"), MaxKeys: maxKeys, Limit: limiter.Limit{Events: events, Window: time.Hour},
	})
}

func newRule(tb testing.TB, r limiter.Rule) *limiter.Rule {
	tb.Helper()
	rule, err := limiter.NewRule(r)
	if err != nil {
		tb.Fatal(err)
	}
	return rule
}

// take takes one event of key.
func take(tb testing.TB, s *Store, now limiter.Instant, r *limiter.Rule, key string) limiter.Decision {
	tb.Helper()
	takes := []limiter.Take{{Rule: r, Key: []byte(key), Cost: 1}}
	if err := s.Take(tb.Context(), now, takes); err != nil {
		tb.Fatal(err)
	}
	return takes[0].Decision
}

// used returns how many events of key the store remembers.
func used(tb testing.TB, s *Store, now limiter.Instant, r *limiter.Rule, key string) int64 {
	tb.Helper()
	takes := []limiter.Take{{Rule: r, Key: []byte(key), Cost: 1}}
	if err := s.Peek(tb.Context(), now, takes); err != nil {
		tb.Fatal(err)
	}
	return takes[0].Decision.Limit - takes[0].Decision.Remaining
}
