package usage

import "testing"

func TestReportLimit(t *testing.T) {
	var l ReportLimit
	for _, step := range []struct {
		second     int64
		reports    int // number of calls
		ok         int
		suppressed uint64 // returned by the first call
	}{
		{100, 3, 3, 0},
		{100, 12, 7, 0},
		{101, 1, 1, 5},
		{101, 9, 9, 0},
		{101, 1000, 0, 0},
		{105, 10, 10, 1000},
		{105, 1, 0, 0},
		{104, 11, 10, 1}, // the clock steps back
		{104, 1, 0, 0},
	} {
		ok := 0
		for i := range step.reports {
			allowed, suppressed := l.Allow(step.second)
			if allowed {
				ok++
			}
			if want := step.suppressed; i == 0 && suppressed != want || i > 0 && suppressed != 0 {
				t.Errorf("report %d of second %d: suppressed = %d, want %d on the first and 0 on others", i, step.second, suppressed, want)
			}
		}
		if ok != step.ok {
			t.Errorf("reports allowed of %d in second %d = %d, want %d", step.reports, step.second, ok, step.ok)
		}
	}
}
