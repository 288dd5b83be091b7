package lease

import (
	"testing"
	"time"
)

// TestClock has one clock, whichever way it is read.
func TestClock(t *testing.T) {
	s := New(deadLender{}, Options{})
	defer s.Close()
	before := s.At(time.Now())
	now := s.Now()
	if after := s.At(time.Now()); now < before || now > after {
		t.Errorf("now = %d, want it between %d and %d", now, before, after)
	}
}
