package largest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestSetKeepsTheLargest compares sets with all values, sorted. Values are added again with another
// size, too.
func TestSetKeepsTheLargest(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 1))
		most := rng.IntN(12)
		s, sizes := New[string, string](most), make(map[string]float64)
		for range rng.IntN(200) {
			key, size := fmt.Sprint(rng.IntN(150)), float64(rng.IntN(60))
			if sizes[key] > size {
				continue // a smaller size may let in one that was turned away
			}
			sizes[key] = size
			if s.Fits(size) || rng.IntN(2) == 0 {
				s.Add(key, size, key+" of "+fmt.Sprint(size))
			}
		}
		got := s.Sorted()
		var want []float64
		for _, size := range slices.Backward(slices.Sorted(maps.Values(sizes))) {
			want = append(want, size)
		}
		want = want[:min(most, len(want))]
		if len(got) != len(want) {
			t.Fatalf("seed %d: kept %q, want %d", seed, got, len(want))
		}
		seen := make(map[string]bool)
		for i, value := range got {
			var key string
			var size float64
			if _, err := fmt.Sscanf(value, "%s of %g", &key, &size); err != nil || size != want[i] || sizes[key] != size || seen[key] {
				t.Fatalf("seed %d: value %d = %q, want the size %g", seed, i, value, want[i])
			}
			seen[key] = true
		}
	}
}

// Values of one size are in the order of their keys, whatever came first.
func TestSortedIsStable(t *testing.T) {
	s := New[string, string](3)
	for _, key := range []string{"b", "c", "a"} {
		s.Add(key, 1, key)
	}
	if got := s.Sorted(); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("sorted = %q", got)
	}
}
