package topkeys

import (
	"fmt"
	"testing"
)

func take(key string) *Take { return &Take{Rule: 1, Limit: 1, Key: []byte(key), Cost: 1} }

// counted returns the events and the errors of a key in a sketch. Both are 0 if the key has no
// counter.
func (s *sketch) counted(key string) (events, errors uint64) {
	for i := range s.counters {
		if c := &s.counters[i]; c.length > 0 && c.is(take(key)) {
			return s.events[i], c.errors
		}
	}
	return 0, 0
}

func checkCounted(t *testing.T, s *sketch, key string, events, errors uint64) {
	t.Helper()
	if n, e := s.counted(key); n != events || e != errors {
		t.Errorf("%s has %d events, %d of them perhaps of others, want %d and %d", key, n, e, events, errors)
	}
}

func TestSketch(t *testing.T) {
	var s sketch
	for i := range perSketch {
		s.add(uint32(i), take(fmt.Sprint("key", i)), uint64(10+i))
	}
	checkCounted(t, &s, "key0", 10, 0)
	if s.atMost() != 10 {
		t.Errorf("a key without a counter has at most %d, want 10", s.atMost())
	}
	// A new key takes the counter with the smallest count, and that count is its error.
	s.add(77, take("new"), 3)
	checkCounted(t, &s, "new", 13, 10)
	checkCounted(t, &s, "key0", 0, 0)
	s.add(77, take("new"), 5)
	checkCounted(t, &s, "new", 18, 10)
	// The counts of one key under two rules are apart, although the hashes are equal.
	s.add(77, &Take{Rule: 2, Key: []byte("new")}, 4)
	checkCounted(t, &s, "new", 18, 10)
	checkCounted(t, &s, "key1", 0, 0)
}

func TestSketchGenerations(t *testing.T) {
	var s sketch
	s.advance(7)
	s.add(1, take("old"), 5)
	s.advance(8)
	s.add(1, take("old"), 2)
	s.add(2, take("new"), 3)
	checkCounted(t, &s, "old", 7, 0)
	s.advance(7) // a late take
	s.add(2, take("new"), 1)
	checkCounted(t, &s, "new", 4, 0)
	s.advance(9)
	checkCounted(t, &s, "old", 2, 0)
	checkCounted(t, &s, "new", 4, 0)
	s.advance(11) // nothing was counted in a whole generation
	checkCounted(t, &s, "new", 0, 0)
	s.add(2, take("new"), 1)
	s.advance(3) // the clock was set back
	checkCounted(t, &s, "new", 0, 0)
	if s.generation != 3 {
		t.Errorf("generation = %d, want 3", s.generation)
	}
}

// The bound of a key without a counter includes the events that it had in the generation before.
func TestSketchBound(t *testing.T) {
	var s sketch
	s.advance(1)
	for i := range perSketch + 1 { // the last key takes the counter of the first
		s.add(uint32(i), take(fmt.Sprint("key", i)), 6)
	}
	checkCounted(t, &s, "key0", 0, 0)
	s.advance(2)
	if s.atMost() < 6 {
		t.Errorf("a key without a counter has at most %d, but one has 6", s.atMost())
	}
}
