package memstore

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/limiter/internal/share"
	"github.com/fleetlimit/fleetlimit/test/racetest"
)

// sharing returns n keys that share an overflow count under r.
func sharing(tb testing.TB, s *Store, r *limiter.Rule, n int) (keys []string) {
	tb.Helper()
	var first string
	for i := 0; len(keys) < n; i++ {
		key := fmt.Sprint("new", i)
		l := location{zone: s.zoneOf(r)}
		l.zone.locate(&l.key, &limiter.Take{Rule: r, Key: []byte(key)})
		if l.moveToOverflow(); i == 0 {
			first = string(l.key.Text)
		}
		if string(l.key.Text) == first {
			keys = append(keys, key)
		}
	}
	return keys
}

// TestFloodLocksNobodyOut fills a zone with keys at their limit and sends thousands of fresh keys.
// Later keys are admitted, each up to the limit at most.
func TestFloodLocksNobodyOut(t *testing.T) {
	flood := 8192
	if racetest.Enabled { // see TestFloodDoesNotEvictKeysAtTheirLimit
		flood /= 4
	}
	for _, kind := range []limiter.Kind{limiter.TokenBucket, limiter.SlidingWindowLog} {
		t.Run(kind.String(), func(t *testing.T) {
			const limit, maxKeys, paying = 10, 100, 500
			s := open(t)
			r := newRule(t, limiter.Rule{
				ID: 1, Zone: s.Open("z"), MaxKeys: maxKeys, Algorithm: limiter.Algorithm{Kind: kind}, Limit: limiter.Limit{Events: limit, Window: time.Hour},
			})
			for i := range maxKeys {
				for range limit {
					take(t, s, start, r, fmt.Sprint("full", i))
				}
			}
			for i := range flood {
				take(t, s, start, r, strconv.Itoa(i))
			}
			admitted := 0
			for i := range paying {
				if take(t, s, start, r, fmt.Sprint("paying", i)).OK {
					admitted++
				}
			}
			// On average two takes share a count, and at most 10 do with a probability of 0.9999.
			if admitted < paying*99/100 {
				t.Errorf("%d of %d new keys were admitted during a flood, want 99 %%", admitted, paying)
			}
			alone := 0
			for range 2 * limit {
				if take(t, s, start, r, "paying0").OK {
					alone++
				}
			}
			if alone >= limit {
				t.Errorf("a key that has taken one event before was admitted %d times more, want at most %d", alone, limit-1)
			}
			if got, want := s.Open("z").Stats(), (Stats{Keys: maxKeys, OverflowTakes: uint64(flood) + paying + 2*limit}); got != want {
				t.Errorf("stats = %+v, want %+v", got, want)
			}
			z := s.Open("z")
			if n, most := z.overflow.Len(), 1<<share.CountBits; n > most || n < most/4 {
				t.Errorf("overflow counts = %d, want a quarter of %d at least, and no more", n, most)
			}
			s.sweep(start + 3*3600*second)
			if room, spilled := memory(z.overflow); room+spilled != 0 {
				t.Errorf("room for overflow counts after a sweep = %d, spilled ones = %d, want none", room, spilled)
			}
		})
	}
}

// TestOverflowIsReported checks that OnOverflow is called once per zone and minute.
func TestOverflowIsReported(t *testing.T) {
	var reported []string
	s := New(Options{SweepInterval: 365 * 24 * time.Hour, OnOverflow: func(zone string) { reported = append(reported, zone) }})
	defer s.Close()
	var rules []*limiter.Rule
	for i, zone := range []string{"a", "b"} {
		rules = append(rules, newRule(t, limiter.Rule{
			ID: uint32(i), Zone: s.Open(zone), MaxKeys: 1, Limit: limiter.Limit{Events: 1, Window: 24 * time.Hour},
		}))
		take(t, s, start, rules[i], "full")
	}
	for _, step := range []struct {
		after limiter.Instant
		rule  int
		want  []string
	}{
		{0, 0, []string{"a"}},
		{1, 0, nil},
		{1, 1, []string{"b"}},
		{60*second - 1, 0, nil},
		{60 * second, 0, []string{"a"}},
		{60 * second, 0, nil},
		{60*second - 1, 0, nil}, // a take with a later now came first
		{61 * second, 1, []string{"b"}},
		{-second, 0, []string{"a"}}, // the clock was set back
	} {
		reported = nil
		take(t, s, start+step.after, rules[step.rule], "new")
		if !slices.Equal(reported, step.want) {
			t.Errorf("after %d µs in zone %d: reported %v, want %v", step.after, step.rule, reported, step.want)
		}
	}
}

func TestKeysWithoutRoomShareACount(t *testing.T) {
	for _, maxKeys := range []int{1, 10, 500} {
		t.Run(fmt.Sprint("maxKeys=", maxKeys), func(t *testing.T) {
			s := open(t)
			r := hourly(t, s, 2, maxKeys)
			for i := range maxKeys {
				take(t, s, start, r, strconv.Itoa(i))
				take(t, s, start, r, strconv.Itoa(i))
			}
			keys := sharing(t, s, r, 4)
			for i, want := range []limiter.Decision{
				{OK: true, Limit: 2, Remaining: 1},
				{OK: true, Limit: 2, Remaining: 0},
				{OK: false, Limit: 2, Remaining: 0, Breach: true},
				{OK: false, Limit: 2, Remaining: 0},
			} {
				got := take(t, s, start, r, keys[i])
				got.At, got.RetryAt, got.ResetAt = 0, 0, 0
				if got != want {
					t.Errorf("new key %d: %+v, want %+v", i, got, want)
				}
			}
			other := newRule(t, limiter.Rule{ID: 2, Zone: s.Open("z"), MaxKeys: maxKeys, Limit: limiter.Limit{Events: 1, Window: time.Hour}})
			if d := take(t, s, start, other, keys[0]); !d.OK {
				t.Errorf("first take without room under another rule: %+v, want OK", d)
			}
			if got, want := s.Open("z").Stats(), (Stats{Keys: maxKeys, OverflowTakes: 5}); got != want {
				t.Errorf("stats = %+v, want %+v", got, want)
			}
			// 2 events an hour: after half an hour a key at its limit can take one again and is
			// evictable.
			if d := take(t, s, start+1800*second, r, keys[3]); !d.OK || d.Remaining != 1 {
				t.Errorf("new key when there is room again: %+v, want OK with 1 remaining", d)
			}
			if got, want := s.Open("z").Stats(), (Stats{Keys: maxKeys, Evictions: 1, OverflowTakes: 5}); got != want {
				t.Errorf("stats = %+v, want %+v", got, want)
			}
		})
	}
}

func TestTakeOfSeveralWithoutRoom(t *testing.T) {
	s := open(t)
	r := hourly(t, s, 1, 1)
	other := newRule(t, limiter.Rule{ID: 2, Zone: s.Open("other"), MaxKeys: 5, Limit: limiter.Limit{Events: 5, Window: time.Hour}})
	take(t, s, start, r, "limited")
	for i, want := range []bool{true, false, false} {
		takes := []limiter.Take{{Rule: r, Key: []byte("new"), Cost: 1}, {Rule: other, Key: []byte("key"), Cost: 1}}
		if err := s.Take(t.Context(), start, takes); err != nil {
			t.Fatal(err)
		}
		if got := takes[0].Decision.OK; got != want {
			t.Errorf("take %d from the overflow: OK = %v, want %v", i+1, got, want)
		}
		if d := takes[1].Decision; !d.OK || d.Remaining != 4 {
			t.Errorf("take %d from the other zone: %+v, want OK with 4 remaining", i+1, d)
		}
	}
}

// A take of two keys that share an overflow count is all or nothing on it.
func TestTakeOfTwoWithoutRoomUnderOneRule(t *testing.T) {
	s := open(t)
	r := hourly(t, s, 1, 1)
	take(t, s, start, r, "limited")
	keys := sharing(t, s, r, 3)
	takes := []limiter.Take{{Rule: r, Key: []byte(keys[0]), Cost: 1}, {Rule: r, Key: []byte(keys[1]), Cost: 1}}
	if err := s.Take(t.Context(), start, takes); err != nil {
		t.Fatal(err)
	}
	if a, b := takes[0].Decision, takes[1].Decision; !a.OK || b.OK {
		t.Errorf("take of both: %+v and %+v, want only the first OK", a, b)
	}
	if d := take(t, s, start, r, keys[2]); !d.OK {
		t.Errorf("take after a denied one: %+v, want OK: nothing was consumed", d)
	}
}

// A client is a [limiter.Client] with a given address.
type client netip.Addr

func (c client) Network() netip.Addr { return netip.Addr(c) }

// TestFloodOfOneClientLocksNoOtherOut floods a full zone with the keys of one client. Keys of other
// clients are admitted. A key is admitted no more often than its limit, however many clients send
// it.
func TestFloodOfOneClientLocksNoOtherOut(t *testing.T) {
	const limit, others = 2, 200
	flood := 20_000
	if racetest.Enabled { // see TestFloodDoesNotEvictKeysAtTheirLimit
		flood /= 4
	}
	for _, kind := range []limiter.Kind{limiter.TokenBucket, limiter.SlidingWindowLog, limiter.FixedWindow} {
		t.Run(kind.String(), func(t *testing.T) {
			s := open(t)
			r := newRule(t, limiter.Rule{
				ID: 1, Zone: s.Open("z"), MaxKeys: 1, Algorithm: limiter.Algorithm{Kind: kind}, Limit: limiter.Limit{Events: limit, Window: time.Hour},
			})
			other := newRule(t, limiter.Rule{ID: 2, Zone: s.Open("other"), Limit: limiter.Limit{Events: 1_000_000, Window: time.Hour}})
			take(t, s, start, r, "full")
			take(t, s, start, r, "full")
			// Every second call takes from two zones as one.
			n := 0
			send := func(now limiter.Instant, from int, key string) limiter.Decision {
				by := client(netip.AddrFrom4([4]byte{192, 0, byte(from >> 8), byte(from)}))
				takes := []limiter.Take{{Rule: r, Key: []byte(key), Cost: 1, Client: by}, {Rule: other, Key: []byte("all"), Cost: 1, Client: by}}
				if err := s.Take(t.Context(), now, takes[:1+n%2]); err != nil {
					t.Fatal(err)
				}
				n++
				return takes[0].Decision
			}
			admitted := func(now limiter.Instant, takes, from int, key string) (n int) {
				for i := range takes {
					if send(now, from, fmt.Sprint(key, i)).OK {
						n++
					}
				}
				return n
			}
			if got, want := admitted(start, flood, 0, "flood"), share.PerClient*limit; got != want {
				t.Errorf("%d of the flood were admitted, want %d", got, want)
			}
			for i, got := 0, 0; i < others; i++ {
				if got += admitted(start, 1, 1+i, fmt.Sprint("other", i)); i == others-1 && got < others*9/10 {
					t.Errorf("%d of %d other clients were admitted, want 90 %%", got, others)
				}
			}
			got := 0
			for i := range others {
				if send(start, 1+i, "one key of many clients").OK {
					got++
				}
			}
			if got > limit {
				t.Errorf("%d takes of a key of many clients were admitted, want at most %d", got, limit)
			}
			d := send(start, 0, "flood")
			if again := send(d.RetryAt, 0, "flood"); d.OK || !again.OK {
				t.Errorf("take of the flood: %+v, want a denial; at its retry: %+v, want OK", d, again)
			}
			s.sweep(start + 3*3600*second)
			if z := s.Open("z"); z.shares.Len() != 0 {
				t.Errorf("shares after a sweep = %d, want none", z.shares.Len())
			}
		})
	}
}
