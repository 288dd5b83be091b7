package zone

import (
	"encoding/binary"
	"math"
	"testing"
)

// The keys are the same on all nodes and in all processes, so their hashes must never change.
func TestKeyShareIsStable(t *testing.T) {
	count := func(seed string, fraction float64, also func(key []byte, in bool)) (n int) {
		s := NewKeyShare(fraction, seed)
		for i := range 10_000 {
			key := binary.AppendUvarint([]byte("kt"), uint64(i))
			in := s.Includes(key)
			if in {
				n++
			}
			also(key, in)
		}
		return n
	}
	tenth := NewKeyShare(0.1, "api")
	both := 0
	for _, fraction := range []float64{0, 0.001, 0.1, 0.5, 0.99, 1} {
		n := count("api", fraction, func(key []byte, in bool) {
			if fraction > 0.1 && tenth.Includes(key) && !in {
				t.Fatalf("key %q is in a share of 10 %% and not in that of %v", key, fraction)
			}
		})
		if want := fraction * 10_000; math.Abs(float64(n)-want) > 100 {
			t.Errorf("a share of %v has %d of 10000 keys, want %v", fraction, n, want)
		}
		if s := NewKeyShare(fraction, "api"); s.All() != (fraction == 1) {
			t.Errorf("a share of %v has all keys: %v", fraction, s.All())
		}
	}
	count("other", 0.1, func(key []byte, in bool) {
		if in && tenth.Includes(key) {
			both++
		}
	})
	if both > 200 {
		t.Errorf("%d keys are in the shares of two seeds, want about 100: they depend on each other", both)
	}
	var got string
	half := NewKeyShare(0.5, "api")
	for key := 'a'; key <= 'z'; key++ {
		if half.Includes([]byte("kt" + string(key))) {
			got += string(key)
		}
	}
	if want := "abcfgjlmnruxz"; got != want {
		t.Errorf("the keys of a share of one half are %s, want %s for ever", got, want)
	}
}
