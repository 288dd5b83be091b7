//go:build !race

package glob

import "testing"

// A load of the configuration compares each pattern with many others, so Covers must be fast for
// patterns that begin with different texts.
func TestCoversDoesNotAllocate(t *testing.T) {
	set := mustParse(t, "key_00001_*", "key_00002_?", "key_00003_*_*")
	if n := testing.AllocsPerRun(100, func() { set.Covers("key_10000_*") }); n != 0 {
		t.Errorf("Covers allocates %v times for a pattern that begins otherwise, want 0", n)
	}
}
