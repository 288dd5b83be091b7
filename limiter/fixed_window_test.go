package limiter

import (
	"testing"
	"time"
)

var fixed = Algorithm{Kind: FixedWindow}

func TestFixedWindow(t *testing.T) {
	r := mustRule(t, fixed, Limit{Events: 5, Window: time.Minute})
	run(t, NewCount(fixed), r, []step{
		{59 * sec, take, 4, true, 1, 59 * sec, 60 * sec},
		{59 * sec, take, 2, false, 1, 60 * sec, 60 * sec},
		{59 * sec, take, 6, false, 1, Never, 60 * sec},
		{60*sec - 1, take, 2, false, 1, 60 * sec, 60 * sec},
		// The boundary burst: nine events within a second.
		{60 * sec, take, 5, true, 0, 60 * sec, 120 * sec},
		{60 * sec, take, 1, false, 0, 120 * sec, 120 * sec},
		// Windows are aligned to the epoch, not to the first event in them.
		{150 * sec, take, 1, true, 4, 150 * sec, 180 * sec},
		{180 * sec, peek, 5, true, 5, 180 * sec, 180 * sec},
	})
}

// TestLongWindowsBegin checks the instants that docs/algorithms.md states.
func TestLongWindowsBegin(t *testing.T) {
	day := func(month time.Month, of int) time.Time { return time.Date(2026, month, of, 0, 0, 0, 0, time.UTC) }
	for _, test := range []struct {
		days   int
		begins time.Time
	}{
		{1, day(time.November, 28)},
		{7, day(time.November, 26)},
		{30, day(time.December, 3)},
		{30, day(time.January, 2).AddDate(1, 0, 0)},
	} {
		length := time.Duration(test.days) * 24 * time.Hour
		c, r := NewCount(fixed), mustRule(t, fixed, Limit{Events: 5, Window: length})
		if d := c.Take(r, At(test.begins)-1, 1); d.ResetAt != At(test.begins) {
			t.Errorf("a window of %d days ends at %s, want %s", test.days, d.ResetAt.Time(), test.begins)
		}
	}
	if weekday := day(time.November, 26).Weekday(); weekday != time.Thursday {
		t.Errorf("weeks begin on a %s", weekday)
	}
}

func TestFixedWindowRefund(t *testing.T) {
	r := mustRule(t, fixed, Limit{Events: 5, Window: time.Minute})
	run(t, NewCount(fixed), r, []step{
		{60 * sec, take, 3, true, 2, 60 * sec, 120 * sec},
		{119 * sec, refundOf(60 * sec), 1, true, 3, 119 * sec, 120 * sec},
		{120 * sec, take, 3, true, 2, 120 * sec, 180 * sec},
		{121 * sec, refundOf(119 * sec), 2, true, 2, 121 * sec, 180 * sec}, // its window has passed
		{121 * sec, refundOf(180 * sec), 2, true, 2, 121 * sec, 180 * sec}, // the clock was set back since
		{121 * sec, refundOf(120 * sec), 3, true, 5, 121 * sec, 121 * sec},
	})
}

// TestFixedWindowChangedLength keeps the consumption of a window that has not ended when the length
// changes.
func TestFixedWindowChangedLength(t *testing.T) {
	minute := mustRule(t, fixed, Limit{Events: 5, Window: time.Minute})
	hour := mustRule(t, fixed, Limit{Events: 50, Window: time.Hour})
	c := NewCount(fixed)
	run(t, c, minute, []step{{61 * sec, take, 4, true, 1, 61 * sec, 120 * sec}})
	run(t, c, hour, []step{{119 * sec, take, 1, true, 45, 119 * sec, 3600 * sec}})
	run(t, c, minute, []step{
		{200 * sec, take, 1, false, 0, 240 * sec, 240 * sec},
		{240 * sec, take, 3, true, 2, 240 * sec, 300 * sec},
	})
	run(t, c, hour, []step{{300 * sec, take, 1, true, 49, 300 * sec, 3600 * sec}}) // the minute had ended
}

func TestFixedWindowClockSetBack(t *testing.T) {
	r := mustRule(t, fixed, Limit{Events: 5, Window: time.Minute})
	run(t, NewCount(fixed), r, []step{
		{600 * sec, take, 4, true, 1, 600 * sec, 660 * sec},
		{599 * sec, take, 2, false, 1, 660 * sec, 660 * sec}, // a late reading, decided as of 600 s
		{599*sec - 1, take, 2, false, 1, 600 * sec, 600 * sec},
		{70 * sec, take, 2, false, 1, 120 * sec, 120 * sec},
		{120 * sec, take, 2, true, 3, 120 * sec, 180 * sec},
	})
}
