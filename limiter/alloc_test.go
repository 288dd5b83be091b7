//go:build !race

package limiter

import (
	"testing"
	"time"
)

// TestTakeDoesNotAllocate takes events of a key that has taken many before, so that the memory of a
// log has grown as far as it will.
func TestTakeDoesNotAllocate(t *testing.T) {
	for _, a := range every {
		t.Run(a.name, func(t *testing.T) {
			r := mustRule(t, a.Algorithm, Limit{Events: 100, Window: time.Second})
			c, now := NewCount(a.Algorithm), Instant(100*sec)
			for range 200 {
				now += 7 * ms
				c.Take(r, now, 1)
			}
			if got := testing.AllocsPerRun(1000, func() {
				now += 7 * ms
				d := c.Take(r, now, 1) // allowed two times out of three
				c.Take(r, now, 200)    // denied
				c.Peek(r, now, 1)
				c.Refund(r, now, d.Seen(), 1)
				c.Take(r, now, 1)
			}); got != 0 {
				t.Errorf("allocations per take = %v, want 0", got)
			}
		})
	}
}
