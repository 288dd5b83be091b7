package memstore

import (
	"bytes"
	"reflect"
	"testing"
	"time"
	"unsafe"

	"github.com/fleetlimit/fleetlimit/limiter"
)

func TestEntriesHaveNoPointers(t *testing.T) {
	if got := unsafe.Sizeof(entry{}); got != 64 {
		t.Errorf("bytes of the shortest entry = %d, want 64", got)
	}
	for _, typ := range []reflect.Type{reflect.TypeFor[entry](), reflect.TypeFor[page]()} {
		if at, has := pointerIn(typ); has {
			t.Errorf("%v has a pointer, %s: the garbage collector looks at every key", typ, at)
		}
	}
	if at, has := pointerIn(reflect.TypeFor[aside]()); !has || at != "key" {
		t.Errorf("first pointer found in an aside = %q, want that of its key", at)
	}
}

// pointerIn returns the first field of t that is or has a pointer.
func pointerIn(t reflect.Type) (field string, has bool) {
	switch t.Kind() {
	case reflect.Struct:
		for i := range t.NumField() {
			if _, has := pointerIn(t.Field(i).Type); has {
				return t.Field(i).Name, true
			}
		}
		return "", false
	case reflect.Array:
		return pointerIn(t.Elem())
	default:
		return "", t.Kind() > reflect.Complex128 // all that are simpler are numbers
	}
}

func TestSizeOf(t *testing.T) {
	for _, tt := range []struct{ numbers, text, bytes int }{
		{0, 0, 64},
		{4, 0, 64}, // a token bucket
		{4, 1, 80},
		{4, 16, 80},
		{4, 17, 96},
		{7, 16, 112}, // a sliding window
		{7, 40, 128},
		{7, 41, 192},
		{9, 24, 128}, // a sliding window of three parts
		{4, 128, 192},
		{4, 129, 256},
		{maxNumbers, maxText, 512},
	} {
		z := sizeOf(tt.numbers, tt.text)
		if got := z.cells() * cellSize; got != tt.bytes {
			t.Errorf("bytes for %d numbers and a key of %d = %d, want %d", tt.numbers, tt.text, got, tt.bytes)
		}
	}
	if got := int(sizeOf(maxNumbers, maxText)) + 1; got != sizeCount {
		t.Errorf("sizes = %d, want %d", sizeCount, got)
	}
}

func TestFormsDiffer(t *testing.T) {
	seen := map[form]limiter.Algorithm{0: {}} // 0 is that of a free slot
	add := func(a limiter.Algorithm) {
		if other, ok := seen[formOf(a)]; ok {
			t.Errorf("form of %v = %d, that of %v or of a free slot", a, formOf(a), other)
		}
		seen[formOf(a)] = a
	}
	for _, kind := range []limiter.Kind{limiter.TokenBucket, limiter.SlidingWindowLog, limiter.FixedWindow} {
		add(limiter.Algorithm{Kind: kind})
	}
	for n := 1; n <= limiter.MaxSubWindows; n++ {
		add(limiter.Algorithm{Kind: limiter.SlidingWindow, SubWindows: n})
	}
}

// everyForm are algorithms whose counts are of each length that matters: in the entry up to the longest, and aside.
var everyForm = []limiter.Algorithm{
	{Kind: limiter.TokenBucket},
	{Kind: limiter.FixedWindow},
	{Kind: limiter.SlidingWindow, SubWindows: 1},
	{Kind: limiter.SlidingWindow, SubWindows: 3},
	{Kind: limiter.SlidingWindow, SubWindows: 18},
	{Kind: limiter.SlidingWindow, SubWindows: 19},
	{Kind: limiter.SlidingWindowLog},
}

// everyLength are keys of each length that matters, and for each two that differ at one end only.
func everyLength() (keys [][]byte) {
	for n := range maxText + 3 {
		keys = append(keys, bytes.Repeat([]byte{'k'}, n))
	}
	keys = append(keys, bytes.Repeat([]byte{'k'}, textAside), bytes.Repeat([]byte{'k'}, textAside+1))
	for _, key := range keys[1:] {
		other := bytes.Clone(key)
		other[len(other)-1]++
		keys = append(keys, other)
	}
	return keys
}

// Counts and keys stand side by side in entries of all lengths: whatever one of them writes, it is not another's.
func TestEntriesDoNotOverlap(t *testing.T) {
	s, keys := open(t, "z"), everyLength()
	var rules []*limiter.Rule
	for i, a := range everyForm {
		rules = append(rules, newRule(t, limiter.Rule{
			ID: uint32(i), Zone: "z", Algorithm: a, Limit: limiter.Limit{Events: limiter.MaxEvents, Window: limiter.MaxWindow},
		}))
	}
	for round := range int64(3) {
		for _, r := range rules {
			for i, key := range keys {
				takes := []limiter.Take{{Rule: r, Key: key, Cost: int64(i) + 1}}
				_ = s.Take(t.Context(), start+limiter.Instant(i), takes)
				if got, want := limiter.MaxEvents-takes[0].Decision.Remaining, (round+1)*takes[0].Cost; got != want {
					t.Fatalf("%v: events used of key %d, of %d bytes = %d, want %d", r.Algorithm, i, len(key), got, want)
				}
			}
		}
	}
}

// A rule ID that a later configuration gives to another algorithm finds none of the counts of the former.
func TestSameRuleIDWithAnotherAlgorithm(t *testing.T) {
	s := open(t, "z")
	for round := range int64(3) {
		for _, a := range everyForm {
			r := newRule(t, limiter.Rule{ID: 1, Zone: "z", Algorithm: a, Limit: limiter.Limit{Events: 3, Window: time.Hour}})
			if d := take(t, s, start, r, "key"); !d.OK || d.Remaining != 2-round {
				t.Errorf("take %d under %v: %+v, want OK with %d remaining", round+1, a, d, 2-round)
			}
			takes := []limiter.Take{{Rule: r, Key: []byte("other"), Cost: 1}}
			_ = s.Take(t.Context(), start, takes)
			_ = s.Refund(t.Context(), start, start, takes)
			if got := used(t, s, start, r, "other"); got != 0 {
				t.Errorf("events used after a refund under %v = %d, want 0", a, got)
			}
		}
	}
	if got, want := s.Stats("z").Keys, 2*len(everyForm); got != want {
		t.Errorf("keys = %d, want %d: two for each algorithm", got, want)
	}
}
