package memstore

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

func TestIdlestKeyGoesFirst(t *testing.T) {
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
			t.Errorf("key%d has used %d after a new key came, want only key1 forgotten", i, got)
		}
	}
	if got, want := s.Open("z").Stats(), (Stats{Keys: 10, Evictions: 1}); got != want {
		t.Errorf("stats = %+v, want %+v", got, want)
	}
}

func TestRecentKeysStayInALargeTable(t *testing.T) {
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

func TestSpentKeysGoBeforeIdleOnes(t *testing.T) {
	s := open(t)
	r := hourly(t, s, 5, 10)
	brief := newRule(t, limiter.Rule{ID: 2, Zone: s.Open("z"), MaxKeys: 10, Limit: limiter.Limit{Events: 5, Window: time.Second}})
	for i := range 9 {
		take(t, s, start, r, strconv.Itoa(i))
	}
	take(t, s, start+60*second, brief, "spent") // the most recently used, but back at its full limit soon
	take(t, s, start+70*second, r, "new")
	for i := range 9 {
		if got := used(t, s, start+70*second, r, strconv.Itoa(i)); got != 1 {
			t.Errorf("key %d has used %d, want 1: the spent key was to go", i, got)
		}
	}
	if got, want := s.Open("z").Stats(), (Stats{Keys: 10}); got != want {
		t.Errorf("stats = %+v, want %+v: nothing was lost", got, want)
	}
}

func TestFloodDoesNotPushOutKeysAtTheirLimit(t *testing.T) {
	flood := 100_000
	if raceEnabled { // which takes ten times as long and has nothing to find in a single goroutine
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

func TestLoweredBoundIsWorkedOff(t *testing.T) {
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
