package leasetest

import (
	"testing"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// TestSlotsOfAnotherLength lends in slots of another length, as after a change of the limit: the
// old leases are told from the new ones, and count for as long as they can be spent.
func TestSlotsOfAnotherLength(t *testing.T) {
	var s leaseSlots
	s.lend(100, 10, 7) // [100, 110)
	s.lend(105, 1000, 0)
	if s.out() != 7 || s.previous != 7 || s.ends < 120 {
		t.Errorf("slots = %+v, want 7 out, lent before, in a slot that ends when they do, at 120, or later", s)
	}
	s.lend(105, 1000, 5)
	if got := s.takeBack(limiter.Events{At: 100, N: 7}); got != 7 || s.current != 5 {
		t.Errorf("taken back of what was lent before = %d, and %d are out of what is lent now, want 7 and 5", got, s.current)
	}
	s.rotate()
	if s.out() != 5 {
		t.Errorf("out in the next slot = %d, want 5", s.out())
	}
	if got := s.takeBack(limiter.Events{At: 105, N: 9}); got != 5 {
		t.Errorf("taken back in the next slot = %d, want 5", got)
	}
}
