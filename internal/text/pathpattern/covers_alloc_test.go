//go:build !race

package pathpattern

import "testing"

// Many endpoints are compared with each other when a configuration loads, so those that have
// nothing in common are told apart at once.
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
