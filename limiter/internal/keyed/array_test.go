package keyed

import "testing"

// TestFirstHash checks where one group ends and the next begins.
func TestFirstHash(t *testing.T) {
	for _, groups := range []int{1, 2, 3, 7, 100, 65_537} {
		a := array{groups: make([]group, groups)}
		for g := range groups {
			first := a.firstHash(g)
			if got := a.home(first); got != g {
				t.Fatalf("home of the first hash of group %d of %d = %d", g, groups, got)
			}
			if g > 0 && a.home(first-1) != g-1 {
				t.Fatalf("home of the hash before that = %d, want %d", a.home(first-1), g-1)
			}
		}
	}
}
