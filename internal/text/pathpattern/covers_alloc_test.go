//go:build !race

package pathpattern

import "testing"

// A load of the configuration compares each endpoint with many others, so Covers must be fast for
// patterns that begin with different texts.
func TestCoversDoesNotAllocate(t *testing.T) {
	n := testing.AllocsPerRun(100, func() {
		if Covers("/v1/a/*/x", "/v1/b/*/x") || Covers("/v1/a*", "/v1/b*") || Covers("/v1/a", "/v1/b*") {
			t.Error("a path is covered by one that begins otherwise")
		}
	})
	if n != 0 {
		t.Errorf("Covers allocates %v times for patterns that begin otherwise, want 0", n)
	}
}
