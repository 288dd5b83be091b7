package limiter

import (
	"strings"
	"testing"
	"time"
)

func TestParseOutageMode(t *testing.T) {
	for _, m := range []OutageMode{OutageLocal, OutageOpen, OutageClosed} {
		if got, err := ParseOutageMode(m.String()); got != m || err != nil {
			t.Errorf("ParseOutageMode(%q) = %v, %v, want %v", m, got, err, m)
		}
	}
	if _, err := ParseOutageMode("shut"); err == nil || !strings.Contains(err.Error(), `"shut"`) {
		t.Errorf("error = %v, want one that names the word", err)
	}
}

// TestInOutage checks the buckets of the nodes, which have the limit together.
func TestInOutage(t *testing.T) {
	const minute = 60_000_000
	for _, test := range []struct {
		algorithm Algorithm
		limit     Limit
		nodes     int
		capacity  int64
		accrued   int64 // events accrued in a minute
	}{
		{fixed, Limit{Events: 100, Window: time.Minute}, 0, 100, 100},
		{fixed, Limit{Events: 100, Window: time.Minute}, 1, 100, 100},
		{sliding(3), Limit{Events: 100, Window: time.Minute}, 4, 25, 25},
		{slidingWindowLog, Limit{Events: 100, Window: time.Minute}, 20, 5, 5},
		{bucket, Limit{Events: 100, Window: time.Minute, Burst: 1000}, 20, 50, 5},
		{bucket, Limit{Events: 100, Window: time.Minute, Burst: 5}, 4, 1, 25},
		{bucket, Limit{Events: 100, Window: time.Minute}, 100, 1, 1},
		{fixed, Limit{Events: 100, Window: time.Minute}, 1000, 1, 0},
		{fixed, Limit{Events: MaxEvents, Window: 1000 * time.Minute}, 1 << 30, MaxEvents / 10_000, 97_656}, // 4 steps
		{fixed, Limit{Events: MaxEvents, Window: MaxWindow}, 1 << 30, MaxEvents / 10_000, 0},
		{bucket, Limit{Events: MaxEvents, Window: MinWindow, Burst: MaxEvents}, 1, MaxEvents, MaxEvents * 60_000},
	} {
		b := mustRule(t, test.algorithm, test.limit).InOutage(test.nodes)
		accrued, took := b.Accrue(minute)
		if b.Capacity != test.capacity || accrued != test.accrued || took > minute {
			t.Errorf("%v among %d: capacity = %d, %d accrued in %d µs, want %d and %d within a minute",
				test.limit, test.nodes, b.Capacity, accrued, took, test.capacity, test.accrued)
		}
		if us := b.TimeFor(accrued); accrued > 0 && us != took {
			t.Errorf("%v among %d: time for %d = %d µs, want %d", test.limit, test.nodes, accrued, us, took)
		}
	}
}
