package memstore

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strconv"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/test/racetest"
)

func TestIdlestKeyIsEvictedFirst(t *testing.T) {
	s := open(t)
	r := hourly(t, s, 5, 10)
	now := start
	touch := func(key string) {
		now += second
		take(t, s, now, r, key)
	}
	for i := range 10 {
		touch(fmt.Sprint("key", i))
	}
	touch("key0") // the idlest is key1 now
	touch("new")
	for i := range 10 {
		got := used(t, s, now, r, fmt.Sprint("key", i))
		if gone := got == 0; gone != (i == 1) {
			t.Errorf("key%d has used %d after a new key came, want only key1 evicted", i, got)
		}
	}
	if got, want := s.Open("z").Stats(), (Stats{Keys: 10, Evictions: 1}); got != want {
		t.Errorf("stats = %+v, want %+v", got, want)
	}
}

func TestRecentKeysStayInALargeZone(t *testing.T) {
	s := open(t)
	r := hourly(t, s, 5, 10_000)
	for i := range 10_000 {
		now := start
		if i%2 == 0 {
			now += 60 * second
		}
		take(t, s, now, r, strconv.Itoa(i))
	}
	now := start + 120*second
	for i := range 1000 {
		take(t, s, now, r, fmt.Sprint("new", i))
	}
	lost := 0
	for i := 0; i < 10_000; i += 2 {
		if used(t, s, now, r, strconv.Itoa(i)) == 0 {
			lost++
		}
	}
	if lost > 10 { // an idle key is missing in a sample of 16 with a chance of 1 in 65536, growing to 1 in 3500
		t.Errorf("%d recent keys lost by 1000 evictions while thousands of idle ones were there, want almost none", lost)
	}
}

func TestForgettableKeysAreEvictedFirst(t *testing.T) {
	s := open(t)
	r := hourly(t, s, 5, 10)
	brief := newRule(t, limiter.Rule{ID: 2, Zone: s.Open("z"), MaxKeys: 10, Limit: limiter.Limit{Events: 5, Window: time.Second}})
	for i := range 9 {
		take(t, s, start, r, strconv.Itoa(i))
	}
	take(t, s, start+60*second, brief, "forgettable") // the most recently used, but back at its full limit soon
	take(t, s, start+70*second, r, "new")
	for i := range 9 {
		if got := used(t, s, start+70*second, r, strconv.Itoa(i)); got != 1 {
			t.Errorf("key %d has used %d, want 1: the forgettable key should have been evicted", i, got)
		}
	}
	if got, want := s.Open("z").Stats(), (Stats{Keys: 10}); got != want {
		t.Errorf("stats = %+v, want %+v: nothing was lost", got, want)
	}
}

func TestFloodDoesNotEvictKeysAtTheirLimit(t *testing.T) {
	flood := 100_000
	if racetest.Enabled { // the race detector takes ten times as long and finds nothing in a single goroutine
		flood /= 10
	}
	for _, maxKeys := range []int{20, 1000} {
		t.Run(fmt.Sprint("maxKeys=", maxKeys), func(t *testing.T) {
			s := open(t)
			r := hourly(t, s, 2, maxKeys)
			limited := maxKeys / 2
			for i := range limited {
				take(t, s, start, r, fmt.Sprint("limited", i))
				take(t, s, start, r, fmt.Sprint("limited", i))
			}
			for i := range flood {
				take(t, s, start+second, r, strconv.Itoa(i))
			}
			for i := range limited {
				if d := take(t, s, start+second, r, fmt.Sprint("limited", i)); d.OK {
					t.Fatalf("key %d was at its limit and is allowed after a flood: %+v", i, d)
				}
			}
			if got := s.Open("z").Stats().Keys; got != maxKeys {
				t.Errorf("keys = %d, want %d", got, maxKeys)
			}
		})
	}
}

func TestLoweredMaxKeysIsWorkedOff(t *testing.T) {
	s := open(t)
	wide, narrow := hourly(t, s, 5, 1000), hourly(t, s, 5, 100)
	for i := range 1000 {
		take(t, s, start, wide, strconv.Itoa(i))
	}
	for i := range 300 {
		take(t, s, start+second, narrow, fmt.Sprint("new", i))
	}
	if got := s.Open("z").Stats().Keys; got != 100 {
		t.Errorf("keys after the bound was lowered to 100 and 300 keys came = %d, want 100", got)
	}
}
func TestSweepKeepsKeysThatAreNotForgettable(t *testing.T) {
	s := open(t)
	r := hourly(t, s, 60, 10)
	denied := newRule(t, limiter.Rule{ID: 2, Zone: s.Open("z"), Limit: limiter.Limit{Events: 60, Window: time.Hour, Burst: 1}})
	take(t, s, start, r, "used")          // resets after a minute
	take(t, s, start, denied, "denied")   // resets after a minute, too
	take(t, s, start+1, denied, "denied") // but its next denial is not the first for an hour
	for _, step := range []struct {
		at      limiter.Instant
		keys    int
		atLimit int
	}{
		{30 * second, 2, 1},
		{60 * second, 2, 0},
		{62 * second, 1, 0},
		{3600 * second, 1, 0},
		{3602 * second, 0, 0},
	} {
		s.sweep(start + step.at)
		if got := s.Open("z").KeysAtLimit(); got != step.atLimit {
			t.Errorf("keys at their limit at start + %v = %d, want %d", step.at, got, step.atLimit)
		}
		if got := s.Open("z").Stats().Keys; got != step.keys {
			t.Errorf("keys after a sweep at start + %v = %d, want %d", step.at, got, step.keys)
		}
	}
}

// Whatever keys come and go, their memory is reused.
func TestMemoryIsReused(t *testing.T) {
	for _, tt := range []struct {
		name string
		take func(t *testing.T, s *Store, r, limited *limiter.Rule, key []byte)
	}{
		{"evicted", func(t *testing.T, s *Store, r, _ *limiter.Rule, key []byte) {
			_ = s.Take(t.Context(), start, []limiter.Take{{Rule: r, Key: key, Cost: 1}})
		}},
		{"denied by another key", func(t *testing.T, s *Store, r, limited *limiter.Rule, key []byte) {
			_ = s.Take(t.Context(), start, []limiter.Take{{Rule: r, Key: key, Cost: 1}, {Rule: limited, Cost: 1}})
		}},
		{"peeked at", func(t *testing.T, s *Store, r, _ *limiter.Rule, key []byte) {
			_ = s.Peek(t.Context(), start, []limiter.Take{{Rule: r, Key: key, Cost: 1}})
		}},
		{"swept", func(t *testing.T, s *Store, r, _ *limiter.Rule, key []byte) {
			_ = s.Take(t.Context(), start, []limiter.Take{{Rule: r, Key: key, Cost: 1}})
			s.sweep(start + 3700*second)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := open(t)
			limited := newRule(t, limiter.Rule{
				ID: 9, Zone: s.Open("other"), Limit: limiter.Limit{Events: 1, Window: time.Hour},
			})
			take(t, s, start, limited, "")
			var rules []*limiter.Rule
			for i, a := range everyLayout {
				rules = append(rules, newRule(t, limiter.Rule{
					ID: uint32(i), Zone: s.Open("z"), MaxKeys: 100, Algorithm: a, Limit: limiter.Limit{Events: 9, Window: time.Hour},
				}))
			}
			rng := rand.New(rand.NewPCG(3, 4))
			for i := range uint64(10_000) {
				key := make([]byte, 8+rng.IntN(300))
				binary.BigEndian.PutUint64(key, i)
				tt.take(t, s, rules[i%uint64(len(rules))], limited, key)
			}
			s.sweep(start)
			room, counts := memory(s.Open("z").counts)
			if most := 7 << shardBits; room > most {
				t.Errorf("room for 100 keys at most = %d, want at most the least there can be in each shard, %d", room, most)
			}
			if keys := s.Open("z").Stats().Keys; keys > 100 || counts > keys {
				t.Errorf("keys = %d and spilled counts = %d, want at most 100 and no more counts", keys, counts)
			}
		})
	}
}

func TestMemoryOfSweptKeysIsFreed(t *testing.T) {
	const keys = 100_000
	s := open(t)
	r := hourly(t, s, 60, keys)
	for i := range keys {
		at := start
		if i%20 == 0 {
			at += 600 * second
		}
		key := binary.BigEndian.AppendUint32(nil, uint32(i))
		_ = s.Take(t.Context(), at, []limiter.Take{{Rule: r, Key: key, Cost: 1}})
	}
	if room, _ := memory(s.Open("z").counts); room > keys*3/2 {
		t.Errorf("room for %d keys = %d, want at most half as much more", keys, room)
	}
	s.sweep(start + 120*second)
	if got := s.Open("z").Stats().Keys; got != keys/20 {
		t.Errorf("keys after most have reset = %d, want %d", got, keys/20)
	}
	if room, _ := memory(s.Open("z").counts); room > 4*keys/20 {
		t.Errorf("room for %d keys = %d, want at most four times as much", keys/20, room)
	}
	for i := 0; i < keys; i += 20 {
		key := string(binary.BigEndian.AppendUint32(nil, uint32(i)))
		if got := used(t, s, start+600*second, r, key); got != 1 {
			t.Fatalf("key %d has used %d after the sweep, want 1", i, got)
		}
	}
	s.sweep(start + 3600*second)
	if room, _ := memory(s.Open("z").counts); room != 0 {
		t.Errorf("room without keys = %d, want none", room)
	}
}

// memory returns how many entries m has memory for and how many spilled counts it has. Only tests
// need them, so no method of m returns them.
func memory(m *counts) (room, spilled int) {
	const groupSize = 7 // slots
	shards := reflect.ValueOf(m.Shards())
	for i := range shards.Len() {
		arrays := shards.Index(i).FieldByName("Entries").FieldByName("arrays")
		for j := range arrays.Len() {
			room += groupSize * arrays.Index(j).FieldByName("groups").Len()
		}
		spilled += shards.Index(i).FieldByName("State").FieldByName("values").Len()
	}
	return room, spilled
}
