package fleetlimit

import "testing"

func TestReportLimit(t *testing.T) {
	var l reportLimit
	for _, step := range []struct {
		second     int64
		reports    int // how many are asked for
		ok         int
		suppressed uint64 // that the first of them tells
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
			allowed, suppressed := l.allow(step.second)
			if allowed {
				ok++
			}
			if want := step.suppressed; i == 0 && suppressed != want || i > 0 && suppressed != 0 {
				t.Errorf("report %d of second %d tells %d suppressed, want %d on the first alone", i, step.second, suppressed, want)
			}
		}
		if ok != step.ok {
			t.Errorf("of %d reports in second %d, %d are allowed, want %d", step.reports, step.second, ok, step.ok)
		}
	}
}

func TestUnboundedLogs(t *testing.T) {
	for _, tc := range []struct {
		setting string
		legacy  bool
		want    bool
	}{
		{"", false, false}, {"first", false, false}, {"all", false, true}, {"", true, true}, {"first", true, false}, {"all", true, true},
	} {
		which, err := parseRejectionLog(tc.setting)
		if err != nil {
			t.Fatal(err)
		}
		if got := which.unbounded(tc.legacy); got != tc.want {
			t.Errorf("log_rejections %q, legacy %v: unbounded %v, want %v", tc.setting, tc.legacy, got, tc.want)
		}
	}
}
