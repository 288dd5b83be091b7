package fleetlimit

import (
	"testing"
	"time"
)

func TestHealth(t *testing.T) {
	var h health
	start := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for i, step := range []struct {
		at       time.Duration
		fails    bool
		reported bool   // as the first failure, or as being back
		failures uint64 // when it is back
	}{
		{at: 0},
		{at: time.Second, fails: true, reported: true},
		{at: time.Second, fails: true},
		{at: 2 * time.Second}, // answers and failures alternate where one of several primaries is down
		{at: 3 * time.Second, fails: true},
		{at: 2500 * time.Millisecond, fails: true}, // began earlier, and was overtaken
		{at: 8*time.Second - 1},
		{at: 8 * time.Second, reported: true, failures: 4},
		{at: 9 * time.Second},
		{at: 10 * time.Second, fails: true, reported: true},
		{at: 20 * time.Second, reported: true, failures: 1},
		{at: 21 * time.Second},
	} {
		now := start.Add(step.at)
		var got bool
		var failures uint64
		if step.fails {
			got = h.failed(now)
		} else {
			got, failures = h.answered(now)
		}
		if got != step.reported || failures != step.failures {
			t.Errorf("step %d at %v: reported = %v with %d failures, want %v with %d",
				i, step.at, got, failures, step.reported, step.failures)
		}
	}
}
