//go:build !race

package glob

import "testing"

// Many patterns are compared with each other when a configuration loads, so those that have nothing
// in common are told apart at once.
func TestCoversDoesNotAllocate(t *testing.T) {
	set := mustParse(t, "key_00001_*", "key_00002_?", "key_00003_*_*")
	if n := testing.AllocsPerRun(100, func() { set.Covers("key_10000_*") }); n != 0 {
		t.Errorf("Covers allocates %v times for a pattern that begins otherwise, want 0", n)
	}
}
