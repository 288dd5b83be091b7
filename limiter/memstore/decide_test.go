package memstore

import (
	"fmt"
	"testing"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/limiter/internal/keyed"
)

// A take of several keys adds the new ones before it consumes. It must not evict one of its own.
func TestTakeDoesNotEvictItsOwnKeys(t *testing.T) {
	s := open(t)
	r := hourly(t, s, 1, 2)
	take(t, s, start, r, "known")
	later := start + 7200*second // known is forgettable: the first to be evicted
	take(t, s, later, r, "limited")
	takes := []limiter.Take{{Rule: r, Cost: 1}, {Rule: r, Key: []byte("known"), Cost: 1}}
	for i := 0; ; i++ { // a new key of the same shard, as eviction skips other shards that are locked
		takes[0].Key = fmt.Append(nil, "new", i)
		if shardOf(s, &takes[0]) == shardOf(s, &takes[1]) {
			break
		}
	}
	if err := s.Take(t.Context(), later, takes); err != nil {
		t.Fatal(err)
	}
	if a, b := takes[0].Decision, takes[1].Decision; !a.OK || !b.OK {
		t.Errorf("take of both: %+v and %+v, want both OK", a, b)
	}
	if got := used(t, s, later, r, "known"); got != 1 {
		t.Errorf("known has used %d, want 1", got)
	}
	if got, want := s.Open("z").Stats(), (Stats{Keys: 2, OverflowTakes: 1}); got != want {
		t.Errorf("stats = %+v, want %+v", got, want)
	}
}

// The first of two new keys is in the table before the second. It must not be evicted either.
func TestTakeDoesNotEvictItsNewKeys(t *testing.T) {
	s := open(t)
	r := hourly(t, s, 5, 1)
	takes := []limiter.Take{{Rule: r, Key: []byte("first"), Cost: 1}, {Rule: r, Cost: 2}}
	for i := 0; ; i++ { // a key of the same shard, as above
		takes[1].Key = fmt.Append(nil, "second", i)
		if shardOf(s, &takes[0]) == shardOf(s, &takes[1]) {
			break
		}
	}
	if err := s.Take(t.Context(), start, takes); err != nil {
		t.Fatal(err)
	}
	if got := used(t, s, start, r, "first"); got != 1 {
		t.Errorf("events used of the first key = %d, want 1", got)
	}
	if got, want := s.Open("z").Stats(), (Stats{Keys: 1, OverflowTakes: 1}); got != want {
		t.Errorf("stats = %+v, want %+v", got, want)
	}
}

func TestRefundedKeyIsEvictable(t *testing.T) {
	s := open(t)
	r := hourly(t, s, 2, 1)
	take(t, s, start, r, "a")
	takes := []limiter.Take{{Rule: r, Key: []byte("a"), Cost: 1, Decision: take(t, s, start, r, "a")}}
	if err := s.Refund(t.Context(), start, takes); err != nil {
		t.Fatal(err)
	}
	take(t, s, start, r, "b")
	if got, want := s.Open("z").Stats(), (Stats{Keys: 1, Evictions: 1}); got != want {
		t.Errorf("stats = %+v, want %+v: a is not at its limit any more", got, want)
	}
}

func TestBreachAfterClockWasSetBack(t *testing.T) {
	s := open(t)
	r := hourly(t, s, 1, 10)
	take(t, s, start+36_000*second, r, "key")
	for _, step := range []struct {
		at     limiter.Instant
		breach bool
	}{
		{36_000 * second, true},
		{36_000*second - limiter.LateReading, false},
		{0, true}, // ten hours back: to be quiet until eleven hours later would be too long
		{1, false},
	} {
		if d := take(t, s, start+step.at, r, "key"); d.OK || d.Breach != step.breach {
			t.Errorf("take at start + %v: %+v, want a denial with Breach = %v", step.at, d, step.breach)
		}
	}
}

// shardOf returns the shard of the count of k.
func shardOf(s *Store, k *limiter.Take) *shard { return s.zoneOf(k.Rule).locate(new(keyed.Key), k) }
