package memstore

import (
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/limiter/storetest"
)

func TestConformance(t *testing.T) {
	storetest.Run(t, func(t *testing.T, names ...string) (storetest.Store, map[string]limiter.Counts) {
		s, zones := open(t), make(map[string]limiter.Counts)
		for _, name := range names {
			zones[name] = s.Open(name)
		}
		return s, zones
	})
}

func TestOpenAndCloseZone(t *testing.T) {
	s := open(t)
	r := hourly(t, s, 2, 10)
	take(t, s, start, r, "key")
	s.Open("z")
	if d := take(t, s, start, r, "key"); !d.OK || d.Remaining != 0 {
		t.Errorf("after opening an open zone again: %+v, want OK with 0 remaining", d)
	}
	z := s.Open("z")
	z.Close()
	z.Close()
	if got := z.Stats(); got != (Stats{}) {
		t.Errorf("stats of a closed zone = %+v, want none", got)
	}
	again := hourly(t, s, 2, 10)
	for _, remaining := range []int64{1, 0} {
		if d := take(t, s, start, again, "key"); !d.OK || d.Remaining != remaining {
			t.Errorf("after closing and opening the zone: %+v, want OK with %d remaining", d, remaining)
		}
	}
	if d := take(t, s, start, r, "key"); !d.OK || d.Remaining != 1 {
		t.Errorf("take with the closed handle: %+v, want OK with 1 remaining, as of a fresh key", d)
	}
}

// TestTakeInZoneThatIsNotOpen takes under rules without a zone, with a zone of another store, and
// with a closed zone.
func TestTakeInZoneThatIsNotOpen(t *testing.T) {
	s := open(t)
	closed := s.Open("closed")
	closed.Close()
	for _, zone := range []limiter.Counts{nil, open(t).Open("open"), closed, (*Counts)(nil)} {
		testTakeInZoneThatIsNotOpen(t, open(t), zone)
	}
	testTakeInZoneThatIsNotOpen(t, s, closed)
}

func testTakeInZoneThatIsNotOpen(t *testing.T, s *Store, zone limiter.Counts) {
	r := newRule(t, limiter.Rule{ID: 1, Zone: zone, MaxKeys: 10, Limit: limiter.Limit{Events: 1, Window: time.Hour}})
	known := newRule(t, limiter.Rule{ID: 2, Zone: s.Open("open"), Limit: limiter.Limit{Events: 5, Window: time.Hour}})
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

// A take that is denied by another zone leaves no trace of its key. Otherwise a client at its limit
// could fill other zones.
func TestDeniedTakeAddsNoKey(t *testing.T) {
	s := open(t)
	r := hourly(t, s, 1, 10)
	other := newRule(t, limiter.Rule{ID: 2, Zone: s.Open("other"), Limit: limiter.Limit{Events: 5, Window: time.Hour}})
	take(t, s, start, r, "key")
	for i := range 5 {
		takes := []limiter.Take{{Rule: other, Key: strconv.AppendInt(nil, int64(i), 10), Cost: 1}, {Rule: r, Key: []byte("key"), Cost: 1}}
		if err := s.Take(t.Context(), start, takes); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.Open("other").Stats().Keys; got != 0 {
		t.Errorf("keys in the other zone = %d, want 0", got)
	}
}

func TestTakeAfterClose(t *testing.T) {
	s := open(t)
	r := hourly(t, s, 1, 10)
	s.Close()
	s.Close()
	if d := take(t, s, start, r, "key"); !d.OK {
		t.Errorf("take after Close: %+v, want OK", d)
	}
	if d := take(t, s, start, r, "key"); d.OK {
		t.Errorf("second take after Close: %+v, want a denial", d)
	}
}

// TestConcurrentUse takes, refunds, sweeps and closes zones at the same time. It is for the race
// detector, and checks the bound of keys.
func TestConcurrentUse(t *testing.T) {
	const maxKeys = 50
	s := open(t)
	rule := func(id uint32, zone string, kind limiter.Kind) *limiter.Rule {
		return newRule(t, limiter.Rule{
			ID: id, Zone: s.Open(zone), MaxKeys: maxKeys, Algorithm: limiter.Algorithm{Kind: kind},
			Limit: limiter.Limit{Events: 3, Window: time.Second},
		})
	}
	b := rule(2, "b", limiter.SlidingWindowLog)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 2000 {
				now := start + limiter.Instant(i)*second/100
				key := strconv.AppendInt(nil, int64(i*(g+1)%300), 10)
				a := rule(1, "a", limiter.FixedWindow) // in the zone "a" that is open now
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
				if keys := s.Open("b").Stats().Keys; keys > maxKeys {
					t.Errorf("keys = %d, want at most %d", keys, maxKeys)
				}
			}
		})
	}
	wg.Go(func() {
		for i := range 200 {
			s.Open("a").Close()
			s.sweep(start + limiter.Instant(i)*second/10)
		}
	})
	wg.Wait()
	s.sweep(start + 60*second)
	for _, zone := range []string{"a", "b"} {
		if got := s.Open(zone).Stats().Keys; got != 0 {
			t.Errorf("keys in zone %s after all have reset = %d, want 0", zone, got)
		}
	}
}

// The bubble does not end before the janitor does, so this also shows that Close waits for it.
func TestJanitorSweeps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{SweepInterval: 10 * time.Second})
		defer s.Close()
		r := newRule(t, limiter.Rule{
			Zone: s.Open("z"), Algorithm: limiter.Algorithm{Kind: limiter.SlidingWindowLog}, Limit: limiter.Limit{Events: 9, Window: 30 * time.Second},
		})
		take(t, s, limiter.At(time.Now()), r, "early")
		time.Sleep(15 * time.Second)
		take(t, s, limiter.At(time.Now()), r, "late")

		for _, step := range []struct {
			sleep time.Duration
			keys  int
		}{
			{25*time.Second - 1, 2}, // 40 s from the start: the early key was reset at 30 s, too late for the sweep of 30 s
			{1, 1},
			{10*time.Second - 1, 1}, // 50 s: the late key was reset at 45 s
			{1, 0},
		} {
			time.Sleep(step.sleep)
			synctest.Wait()
			if got := s.Open("z").Stats().Keys; got != step.keys {
				t.Errorf("keys at %v = %d, want %d", time.Now(), got, step.keys)
			}
		}
	})
}

// TestSweepKeepsUsedKeys uses one key again after it is back at its full limit, and another one
// only once.
func TestSweepKeepsUsedKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{})
		defer s.Close()
		r := newRule(t, limiter.Rule{Zone: s.Open("z"), Limit: limiter.Limit{Events: 9, Window: time.Millisecond}})
		take(t, s, limiter.At(time.Now()), r, "once")
		take(t, s, limiter.At(time.Now()), r, "twice")
		time.Sleep(15 * time.Second)
		take(t, s, limiter.At(time.Now()), r, "twice")
		for _, step := range []struct {
			sleep time.Duration
			keys  int
		}{
			{15*time.Second - 1, 2},
			{1, 1}, // the third sweep, 30 s from the start
			{20*time.Second - 1, 1},
			{1, 0},
		} {
			time.Sleep(step.sleep)
			synctest.Wait()
			if got := s.Open("z").Stats().Keys; got != step.keys {
				t.Errorf("keys at %v = %d, want %d", time.Now(), got, step.keys)
			}
		}
	})
}
