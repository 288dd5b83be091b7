package memstore

import (
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/limiter/storetest"
)

func TestConformance(t *testing.T) {
	storetest.Run(t, func(t *testing.T, zones ...string) limiter.Store { return open(t, zones...) })
}

func TestZonesOpenAndDrop(t *testing.T) {
	s, r := open(t, "z"), hourly(t, 2, 10)
	take(t, s, start, r, "key")
	s.Open("z")
	if d := take(t, s, start, r, "key"); !d.OK || d.Remaining != 0 {
		t.Errorf("after opening an open zone again: %+v, want OK with 0 remaining", d)
	}
	s.Drop("z")
	if got := s.Stats("z"); got != (Stats{}) {
		t.Errorf("stats of a dropped zone = %+v, want none", got)
	}
	s.Open("z")
	if d := take(t, s, start, r, "key"); !d.OK || d.Remaining != 1 {
		t.Errorf("after dropping and opening the zone: %+v, want OK with 1 remaining", d)
	}
}

func TestTakeInZoneThatIsNotOpen(t *testing.T) {
	s, r := open(t, "open"), hourly(t, 1, 10)
	known := newRule(t, limiter.Rule{ID: 2, Zone: "open", Limit: limiter.Limit{Events: 5, Window: time.Hour}})
	for range 3 {
		if d := take(t, s, start, r, "key"); !d.OK || d.Remaining != 0 {
			t.Errorf("take: %+v, want OK with 0 of 1 remaining, as of a fresh key", d)
		}
	}
	takes := []limiter.Take{{Rule: r, Key: []byte("key"), Cost: 1}, {Rule: known, Key: []byte("key"), Cost: 2}}
	for _, remaining := range []int64{3, 1} {
		if err := s.Take(t.Context(), start, takes); err != nil {
			t.Fatal(err)
		}
		if a, b := takes[0].Decision, takes[1].Decision; !a.OK || !b.OK || b.Remaining != remaining {
			t.Errorf("take of both: %+v and %+v, want both OK and %d remaining in the open zone", a, b, remaining)
		}
	}
	if err := s.Refund(t.Context(), start, takes); err != nil {
		t.Fatal(err)
	}
	if got := used(t, s, start, known, "key"); got != 2 {
		t.Errorf("used after refund of both = %d, want 2", got)
	}
}

// A take that is denied by another zone leaves no trace of its key: else a client at its limit could fill other zones.
func TestDeniedTakeAddsNoKey(t *testing.T) {
	s, r := open(t, "z", "other"), hourly(t, 1, 10)
	other := newRule(t, limiter.Rule{ID: 2, Zone: "other", Limit: limiter.Limit{Events: 5, Window: time.Hour}})
	take(t, s, start, r, "key")
	for i := range 5 {
		takes := []limiter.Take{{Rule: other, Key: strconv.AppendInt(nil, int64(i), 10), Cost: 1}, {Rule: r, Key: []byte("key"), Cost: 1}}
		if err := s.Take(t.Context(), start, takes); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.Stats("other").Keys; got != 0 {
		t.Errorf("keys in the other zone = %d, want 0", got)
	}
}

func TestTakeAfterClose(t *testing.T) {
	s, r := open(t, "z"), hourly(t, 1, 10)
	s.Close()
	s.Close()
	if d := take(t, s, start, r, "key"); !d.OK {
		t.Errorf("take after Close: %+v, want OK", d)
	}
	if d := take(t, s, start, r, "key"); d.OK {
		t.Errorf("second take after Close: %+v, want a denial", d)
	}
}

// Takes, zones and stats come and go at once; the race detector and the bound are what is looked at.
func TestConcurrentUse(t *testing.T) {
	const maxKeys = 50
	s := open(t, "a", "b")
	rule := func(id uint32, zone string, kind limiter.Kind) *limiter.Rule {
		return newRule(t, limiter.Rule{
			ID: id, Zone: zone, MaxKeys: maxKeys, Algorithm: limiter.Algorithm{Kind: kind},
			Limit: limiter.Limit{Events: 3, Window: time.Second},
		})
	}
	a, b := rule(1, "a", limiter.FixedWindow), rule(2, "b", limiter.SlidingWindowLog)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 2000 {
				now := start + limiter.Instant(i)*second/100
				key := strconv.AppendInt(nil, int64(i*(g+1)%300), 10)
				takes := []limiter.Take{{Rule: a, Key: key, Cost: 1}, {Rule: b, Key: key, Cost: 1}}
				if g%2 > 0 {
					takes[0], takes[1] = takes[1], takes[0]
				}
				switch i % 5 {
				case 0:
					_ = s.Take(t.Context(), now, takes[:1])
				case 1:
					_ = s.Take(t.Context(), now, takes)
					_ = s.Refund(t.Context(), now, takes)
				case 2:
					_ = s.Peek(t.Context(), now, takes)
				default:
					_ = s.Take(t.Context(), now, takes)
				}
				if keys := s.Stats("b").Keys; keys > maxKeys {
					t.Errorf("keys = %d, want at most %d", keys, maxKeys)
				}
			}
		})
	}
	wg.Go(func() {
		for i := range 200 {
			s.Drop("a")
			s.Open("a")
			s.sweep(start + limiter.Instant(i)*second/10)
		}
	})
	wg.Wait()
	s.sweep(start + 60*second)
	for _, zone := range []string{"a", "b"} {
		if got := s.Stats(zone).Keys; got != 0 {
			t.Errorf("keys in zone %s after all have reset = %d, want 0", zone, got)
		}
	}
}
