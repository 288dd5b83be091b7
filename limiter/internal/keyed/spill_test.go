package keyed

import "testing"

func TestSpill(t *testing.T) {
	var s Spill[int]
	var numbers []int64
	for i := range 1000 {
		numbers = append(numbers, s.Put(i))
	}
	for i, n := range numbers {
		if got := s.At(n); got != i || n == 0 {
			t.Fatalf("value %d, number %d = %d, want it back, and a number that is not 0", i, n, got)
		}
	}
	for _, n := range numbers[10:] {
		s.Drop(n)
	}
	if len(s.values) != 10 || s.most >= 64 {
		t.Errorf("values when all but 10 of 1000 were dropped = %d, in a map that had %d, want 10, less than 64",
			len(s.values), s.most)
	}
	if n := s.Put(-1); n <= numbers[999] {
		t.Errorf("number after %d = %d, want one that was never used", numbers[999], n)
	}
	for i, n := range numbers[:10] {
		if got := s.At(n); got != i {
			t.Errorf("value %d after others were dropped = %d", i, got)
		}
	}
}
