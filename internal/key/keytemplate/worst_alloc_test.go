//go:build !race

package keytemplate

import "testing"

// Reading a key takes a few allocations at most, however a client writes it.
func TestWorstHeadersAllocate(t *testing.T) {
	requestsOf(t, 16<<10, func(name string, appendKey func()) {
		if got := testing.AllocsPerRun(10, appendKey); got > 6 {
			t.Errorf("%s: allocations = %v, want at most 6", name, got)
		}
	})
}
