package storetest

import (
	"testing"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// take takes cost events of key and returns the decision.
func take(t *testing.T, s limiter.Store, now limiter.Instant, r *limiter.Rule, key string, cost int64) limiter.Decision {
	t.Helper()
	return takeAll(t, s, now, newTake(r, key, cost))[0]
}

// allowed takes cost events of key and returns the decision, which must be OK with remaining left.
func allowed(
	t *testing.T, s limiter.Store, now limiter.Instant, r *limiter.Rule, key string, cost, remaining int64,
) limiter.Decision {
	t.Helper()
	d := take(t, s, now, r, key, cost)
	if !d.OK || d.Remaining != remaining {
		t.Errorf("take of %d of %.20q at %s: %+v, want OK with %d remaining", cost, key, offset(now), d, remaining)
	}
	return d
}

// denied takes cost events of key and returns the retry instant. The decision must be a denial with
// remaining left.
func denied(
	t *testing.T, s limiter.Store, now limiter.Instant, r *limiter.Rule, key string, cost, remaining int64,
) limiter.Instant {
	t.Helper()
	d := take(t, s, now, r, key, cost)
	if d.OK || d.Remaining != remaining {
		t.Errorf("take of %d of %.20q at %s: %+v, want a denial with %d remaining", cost, key, offset(now), d, remaining)
	}
	return d.RetryAt
}

// peek returns the decision on cost events of key and takes none.
func peek(t *testing.T, s limiter.Store, now limiter.Instant, r *limiter.Rule, key string, cost int64) limiter.Decision {
	t.Helper()
	takes := []limiter.Take{newTake(r, key, cost)}
	if err := s.Peek(t.Context(), now, takes); err != nil {
		t.Fatalf("peek at %s: %v", offset(now), err)
	}
	return takes[0].Decision
}

// remains checks what is left of key.
func remains(t *testing.T, s limiter.Store, now limiter.Instant, r *limiter.Rule, key string, want int64) {
	t.Helper()
	if got := peek(t, s, now, r, key, 1).Remaining; got != want {
		t.Errorf("remaining of %.20q at %s = %d, want %d", key, offset(now), got, want)
	}
}

// refund gives back cost events of key that were taken with the decision d.
func refund(
	t *testing.T, s limiter.Store, now limiter.Instant, r *limiter.Rule, key string, cost int64, d limiter.Decision,
) {
	t.Helper()
	k := newTake(r, key, cost)
	k.Decision = d
	if err := s.Refund(t.Context(), now, []limiter.Take{k}); err != nil {
		t.Fatalf("refund at %s: %v", offset(now), err)
	}
}

// newTake returns a take of cost events of key.
func newTake(r *limiter.Rule, key string, cost int64) limiter.Take {
	return limiter.Take{Rule: r, Key: []byte(key), Cost: cost}
}

// takeAll decides several takes as one and returns their decisions.
func takeAll(t *testing.T, s limiter.Store, now limiter.Instant, takes ...limiter.Take) []limiter.Decision {
	t.Helper()
	if err := s.Take(t.Context(), now, takes); err != nil {
		t.Fatalf("take at %s: %v", offset(now), err)
	}
	decisions := make([]limiter.Decision, len(takes))
	for i, k := range takes {
		decisions[i] = k.Decision
	}
	return decisions
}

// offset describes an instant by its distance from start.
func offset(i limiter.Instant) string {
	if i == limiter.Never {
		return "never"
	}
	return "start + " + i.Time().Sub(start.Time()).String()
}
