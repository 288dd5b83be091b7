package limiter

import (
	"testing"
	"time"
)

func sliding(subWindows int) Algorithm { return Algorithm{Kind: SlidingWindow, SubWindows: subWindows} }

// TestSlidingWindowClassic is the example from the literature: 42 events in the previous minute and
// 18 in the current one, 15 s into it, make 42 * 45/60 + 18 = 49.5 of 50.
func TestSlidingWindowClassic(t *testing.T) {
	r := mustRule(t, sliding(1), Limit{Events: 50, Window: time.Minute})
	run(t, NewCount(sliding(1)), r, []step{
		{65 * sec, take, 42, true, 8, 65 * sec, 180 * sec},
		// 15 s into the next minute, 31.5 of the 42 count, rounded up to 32.
		{135 * sec, take, 18, true, 0, 135 * sec, 240 * sec},
		// The next can be taken when 31 count: 31/42 of a minute before the end of this minute.
		{135 * sec, take, 1, false, 0, 135_714_286, 240 * sec},
		{135_714_285, take, 1, false, 0, 135_714_286, 240 * sec},
		{135_714_286, take, 1, true, 0, 135_714_286, 240 * sec},
		{135_714_286, take, 51, false, 0, Never, 240 * sec},
		// 50 can be taken when the 19 of this minute do not count any more.
		{179 * sec, take, 50, false, 30, 240 * sec, 240 * sec},
		{240*sec - 1, take, 50, false, 49, 240 * sec, 240 * sec},
		{240 * sec, take, 50, true, 0, 240 * sec, 360 * sec},
	})
}

func TestSlidingWindowThreeSubWindows(t *testing.T) {
	r := mustRule(t, sliding(3), Limit{Events: 10, Window: time.Minute}) // 20 s each
	run(t, NewCount(sliding(3)), r, []step{
		{60 * sec, take, 4, true, 6, 60 * sec, 140 * sec},
		{80 * sec, take, 4, true, 2, 80 * sec, 160 * sec},
		{100 * sec, take, 2, true, 0, 100 * sec, 180 * sec},
		{119 * sec, take, 1, false, 0, 125 * sec, 180 * sec}, // a quarter of the first 4 leaves in 5 s of 20
		{125*sec - 1, take, 1, false, 0, 125 * sec, 180 * sec},
		{125 * sec, take, 1, true, 0, 125 * sec, 200 * sec},
		{125 * sec, take, 3, false, 0, 140 * sec, 200 * sec},
		{125 * sec, take, 4, false, 0, 145 * sec, 200 * sec},
		{125 * sec, take, 8, false, 0, 170 * sec, 200 * sec},
		{125 * sec, take, 10, false, 0, 200 * sec, 200 * sec},
		{1000 * sec, take, 10, true, 0, 1000 * sec, 1080 * sec},
	})
}

func TestSlidingWindowRefund(t *testing.T) {
	r := mustRule(t, sliding(2), Limit{Events: 10, Window: time.Minute}) // 30 s each
	run(t, NewCount(sliding(2)), r, []step{
		{60 * sec, take, 4, true, 6, 60 * sec, 150 * sec},
		{90 * sec, take, 4, true, 2, 90 * sec, 180 * sec},
		{120 * sec, take, 2, true, 0, 120 * sec, 210 * sec},
		{135 * sec, take, 1, true, 1, 135 * sec, 210 * sec},
		{135 * sec, refundOf(89 * sec), 2, true, 2, 135 * sec, 210 * sec},  // half of 2 has left already
		{135 * sec, refundOf(59 * sec), 2, true, 2, 135 * sec, 210 * sec},  // its sub-window has passed
		{135 * sec, refundOf(150 * sec), 2, true, 2, 135 * sec, 210 * sec}, // the clock was set back since
		{135 * sec, refundOf(90 * sec), 9, true, 6, 135 * sec, 210 * sec},  // no more than was taken then
		{135 * sec, refundOf(135 * sec), 3, true, 9, 135 * sec, 150 * sec}, // the reset is that of what remains
		{135 * sec, refundOf(60 * sec), 2, true, 10, 135 * sec, 135 * sec},
	})
}

// TestSlidingWindowChangedLength moves what is used into sub-windows of another length.
func TestSlidingWindowChangedLength(t *testing.T) {
	minute := mustRule(t, sliding(1), Limit{Events: 10, Window: time.Minute})
	short := mustRule(t, sliding(1), Limit{Events: 10, Window: 10 * time.Second})
	c := NewCount(sliding(1))
	run(t, c, minute, []step{{60 * sec, take, 8, true, 2, 60 * sec, 180 * sec}})
	run(t, c, short, []step{{150 * sec, take, 1, true, 5, 150 * sec, 170 * sec}}) // 4 of the 8 are left
	run(t, c, minute, []step{{155 * sec, peek, 1, true, 5, 155 * sec, 240 * sec}})
	run(t, c, short, []step{{300 * sec, peek, 10, true, 10, 300 * sec, 300 * sec}})
}

func TestSlidingWindowClockSetBack(t *testing.T) {
	r := mustRule(t, sliding(1), Limit{Events: 10, Window: time.Minute})
	run(t, NewCount(sliding(1)), r, []step{
		{600 * sec, take, 8, true, 2, 600 * sec, 720 * sec},
		{675 * sec, take, 4, true, 0, 675 * sec, 780 * sec},
		{674 * sec, take, 1, false, 0, 682_500_000, 780 * sec}, // a late reading, decided as of 675 s
		// All ten are in the window of 90 s now. One of them has left after a tenth of the next window.
		{90 * sec, take, 1, false, 0, 126 * sec, 180 * sec},
		{126 * sec, take, 1, true, 0, 126 * sec, 240 * sec},
	})
}
