//go:build !race

package memstore

import (
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

func TestTakeOfKnownKeysDoesNotAllocate(t *testing.T) {
	s := open(t)
	for _, a := range algorithms {
		var takes []limiter.Take
		for id := range uint32(inlineTakes) {
			r := newRule(t, limiter.Rule{ID: id, Zone: s.Open("z"), Algorithm: a.Algorithm, Limit: limiter.Limit{Events: 100, Window: time.Minute}})
			takes = append(takes, limiter.Take{Rule: r, Key: []byte("a key with some thirty characters"), Cost: 1})
		}
		now := start
		for _, n := range []int{1, 3, inlineTakes} {
			check := func(what string, call func()) {
				t.Helper()
				if got := testing.AllocsPerRun(500, call); got != 0 {
					t.Errorf("%s: allocations per %s of %d = %v, want 0", a.name, what, n, got)
				}
			}
			_ = s.Take(t.Context(), now, takes[:n])
			check("take", func() { // 100 of them are allowed, the others denied
				now++
				_ = s.Take(t.Context(), now, takes[:n])
			})
			check("peek", func() { _ = s.Peek(t.Context(), now, takes[:n]) })
			for i := range takes[:n] {
				takes[i].Decision.OK = true // as if the take had been allowed
			}
			check("refund", func() { _ = s.Refund(t.Context(), now, takes[:n]) })
		}
	}
}
