//go:build !race

package lease

import (
	"fmt"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// The race detector allocates, so this one runs without it.
func TestTakeOfKnownKeysDoesNotAllocate(t *testing.T) {
	for _, deny := range []bool{false, true} {
		s := New(&plentyLender{deny: deny}, Options{Clock: func() limiter.Instant { return benchStart }})
		defer s.Close()
		var takes []limiter.Take
		for id := range uint32(roomFor) {
			r := node{t, s, nil}.rule(limiter.Rule{ID: id + 1, MaxOvershoot: 1, Limit: limiter.Limit{Events: limiter.MaxEvents, Window: time.Hour}})
			takes = append(takes, takeOf(r, "a key with some thirty characters", 1))
			_ = s.Take(t.Context(), benchStart, takes[id:]) // asks, and gets one lot
		}
		for _, n := range []int{1, 3, roomFor} {
			check := func(what string, call func()) {
				t.Helper()
				if got := testing.AllocsPerRun(500, call); got != 0 {
					t.Errorf("%s: allocations per %s of %d = %v, want 0", fmt.Sprintf("denied %v", deny), what, n, got)
				}
			}
			now := benchStart
			check("take", func() {
				now++
				_ = s.Take(t.Context(), now, takes[:n])
			})
			if takes[0].Decision.OK == deny || takes[0].Decision.Source == limiter.FromStore {
				t.Errorf("take = %+v, want it decided by the account", takes[0].Decision)
			}
			check("peek", func() { _ = s.Peek(t.Context(), now, takes[:n]) })
		}
	}
}
