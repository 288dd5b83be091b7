//go:build !race

package keytemplate

import "testing"

// However a client spells a key, a few allocations decode it.
func TestWorstHeadersAllocate(t *testing.T) {
	requestsOf(t, 16<<10, func(name string, appendKey func()) {
		if got := testing.AllocsPerRun(10, appendKey); got > 6 {
			t.Errorf("%s: allocations = %v, want at most 6", name, got)
		}
	})
}
