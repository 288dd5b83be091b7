package leasestore

import (
	"testing"
	"time"
)

// TestClock has one clock, whichever way it is read.
func TestClock(t *testing.T) {
	before := At(time.Now())
	now := Now()
	if after := At(time.Now()); now < before || now > after {
		t.Errorf("now = %d, want it between %d and %d", now, before, after)
	}
}
