package storetest

import (
	"testing"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// take takes cost events of key and returns the decision.
func take(t *testing.T, s limiter.Store, now limiter.Instant, r *limiter.Rule, key string, cost int64) limiter.Decision {
	t.Helper()
	return takeAll(t, s, now, ask(r, key, cost))[0]
}

// allowed takes cost events of key, which must be allowed and leave remaining. It returns the decision.
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

// denied takes cost events of key, which must be denied with remaining left. It returns the retry instant.
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

// peek asks for cost events of key without taking them.
func peek(t *testing.T, s limiter.Store, now limiter.Instant, r *limiter.Rule, key string, cost int64) limiter.Decision {
	t.Helper()
	takes := []limiter.Take{ask(r, key, cost)}
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

// refund gives back cost events of key, of a take that was answered with d.
func refund(
	t *testing.T, s limiter.Store, now limiter.Instant, r *limiter.Rule, key string, cost int64, d limiter.Decision,
) {
	t.Helper()
	k := ask(r, key, cost)
	k.Decision = d
	if err := s.Refund(t.Context(), now, []limiter.Take{k}); err != nil {
		t.Fatalf("refund at %s: %v", offset(now), err)
	}
}

// ask returns the take of cost events of key.
func ask(r *limiter.Rule, key string, cost int64) limiter.Take {
	return limiter.Take{Rule: r, Key: []byte(key), Cost: cost}
}

// takeAll takes several as one and returns their decisions.
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

// offset names an instant by its distance from start.
func offset(i limiter.Instant) string {
	if i == limiter.Never {
		return "never"
	}
	return "start + " + i.Time().Sub(start.Time()).String()
}
