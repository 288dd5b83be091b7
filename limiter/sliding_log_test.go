package limiter

import (
	"testing"
	"time"
)

var slidingWindowLog = Algorithm{Kind: SlidingWindowLog}

func TestSlidingLog(t *testing.T) {
	r := mustRule(t, slidingWindowLog, Limit{Events: 5, Window: time.Minute})
	run(t, NewCount(slidingWindowLog), r, []step{
		{10 * sec, take, 2, true, 3, 10 * sec, 70 * sec},
		{10 * sec, take, 1, true, 2, 10 * sec, 70 * sec},
		{50 * sec, take, 2, true, 0, 50 * sec, 110 * sec},
		{50 * sec, take, 1, false, 0, 70 * sec, 110 * sec},
		{50 * sec, take, 3, false, 0, 70 * sec, 110 * sec},
		{50 * sec, take, 4, false, 0, 110 * sec, 110 * sec},
		{50 * sec, take, 6, false, 0, Never, 110 * sec},
		{70*sec - 1, take, 1, false, 0, 70 * sec, 110 * sec},
		// An event leaves the window a window after it came in, to the microsecond.
		{70 * sec, take, 3, true, 0, 70 * sec, 130 * sec},
		{110 * sec, take, 3, false, 2, 130 * sec, 130 * sec},
		{130 * sec, peek, 5, true, 5, 130 * sec, 130 * sec},
	})
}

func TestSlidingLogRefund(t *testing.T) {
	r := mustRule(t, slidingWindowLog, Limit{Events: 9, Window: time.Minute})
	run(t, NewCount(slidingWindowLog), r, []step{
		{10 * sec, take, 3, true, 6, 10 * sec, 70 * sec},
		{20 * sec, take, 3, true, 3, 20 * sec, 80 * sec},
		{30 * sec, take, 3, true, 0, 30 * sec, 90 * sec},
		{30 * sec, refundOf(20 * sec), 2, true, 2, 30 * sec, 90 * sec},
		{30 * sec, peek, 3, false, 2, 70 * sec, 90 * sec},
		{30 * sec, peek, 6, false, 2, 80 * sec, 90 * sec},
		{30 * sec, refundOf(15 * sec), 9, true, 2, 30 * sec, 90 * sec}, // nothing was taken at 15 s
		{30 * sec, refundOf(30 * sec), 3, true, 5, 30 * sec, 80 * sec}, // the reset is that of the other events
		{31 * sec, take, 5, true, 0, 31 * sec, 91 * sec},
		{70 * sec, refundOf(10 * sec), 3, true, 3, 70 * sec, 91 * sec}, // the events have left the window
		{70 * sec, refundOf(20 * sec), 9, true, 4, 70 * sec, 91 * sec},
		{70 * sec, refundOf(31 * sec), 9, true, 9, 70 * sec, 70 * sec},
	})
}

// TestSlidingLogRefundAfterWindow refunds an event that has left the window. Events that came a
// moment later are still in the window.
func TestSlidingLogRefundAfterWindow(t *testing.T) {
	r := mustRule(t, slidingWindowLog, Limit{Events: 5, Window: time.Minute})
	run(t, NewCount(slidingWindowLog), r, []step{
		{10 * sec, take, 1, true, 4, 10 * sec, 70 * sec},
		{10*sec + 500*ms, take, 3, true, 1, 10*sec + 500*ms, 70*sec + 500*ms},
		{70*sec - 1, peek, 2, false, 1, 70 * sec, 70*sec + 500*ms},
		{70 * sec, refundOf(10 * sec), 1, true, 2, 70 * sec, 70*sec + 500*ms},
	})
}

// TestSlidingLogRefundLateReading refunds a take at a late reading of the clock.
func TestSlidingLogRefundLateReading(t *testing.T) {
	r := mustRule(t, slidingWindowLog, Limit{Events: 3, Window: time.Minute})
	run(t, NewCount(slidingWindowLog), r, []step{
		{10 * sec, take, 1, true, 2, 10 * sec, 70 * sec},
		{10*sec - 500*ms, take, 2, true, 0, 10 * sec, 70 * sec},
		{10*sec - 500*ms, refund, 2, true, 2, 10 * sec, 70 * sec},
		{12 * sec, refundOf(10*sec - LateReading - 1), 1, true, 2, 12 * sec, 70 * sec},
		{12 * sec, refundOf(10*sec - LateReading), 1, true, 3, 12 * sec, 12 * sec},
	})
}

func TestSlidingLogChangedWindow(t *testing.T) {
	minute := mustRule(t, slidingWindowLog, Limit{Events: 5, Window: time.Minute})
	short := mustRule(t, slidingWindowLog, Limit{Events: 5, Window: 10 * time.Second})
	c := NewCount(slidingWindowLog)
	run(t, c, minute, []step{
		{10 * sec, take, 2, true, 3, 10 * sec, 70 * sec},
		{50 * sec, take, 2, true, 1, 50 * sec, 110 * sec},
	})
	run(t, c, short, []step{{55 * sec, take, 4, false, 3, 60 * sec, 60 * sec}})
	run(t, c, minute, []step{{55 * sec, take, 4, false, 1, 110 * sec, 110 * sec}}) // nothing was written
	run(t, c, short, []step{{55 * sec, take, 1, true, 2, 55 * sec, 65 * sec}})
	run(t, c, minute, []step{{55 * sec, take, 4, false, 2, 110 * sec, 115 * sec}}) // events that had left do not come back
}

func TestSlidingLogClockSetBack(t *testing.T) {
	r := mustRule(t, slidingWindowLog, Limit{Events: 2, Window: time.Minute})
	run(t, NewCount(slidingWindowLog), r, []step{
		{600 * sec, take, 1, true, 1, 600 * sec, 660 * sec},
		{620 * sec, take, 1, true, 0, 620 * sec, 680 * sec},
		{619 * sec, take, 1, false, 0, 660 * sec, 680 * sec}, // a late reading, decided as of 620 s
		{100 * sec, take, 1, false, 0, 140 * sec, 160 * sec}, // 520 s earlier: all events are moved back by 520 s
		{140 * sec, take, 1, true, 0, 140 * sec, 200 * sec},
	})
}

// TestSlidingLogMemory fills and empties a log again and again. Its memory grows and shrinks with
// its entries, and the entries stay in order.
func TestSlidingLogMemory(t *testing.T) {
	r := mustRule(t, slidingWindowLog, Limit{Events: 1000, Window: time.Second})
	l := NewCount(slidingWindowLog).(*slidingLog)
	now := Instant(100 * sec)
	for _, entries := range []int{1, 3, 1000, 5, 0, 600, 1, 1000} {
		for range entries { // once a millisecond
			now += ms
			if d := l.Take(r, now, 1); !d.OK {
				t.Fatalf("take at %d = %+v, want OK", now, d)
			}
		}
		for i, b := range l.window() {
			if i == 0 {
				continue
			}
			if a := l.window()[i-1]; a.at >= b.at || b.upTo-a.upTo != 1 {
				t.Fatalf("entries %d and %d = %+v, %+v, want rising instants and one event each", i-1, i, a, b)
			}
		}
		now += sec - Instant(entries)*ms/2 // about the second half stays in the window
		l.advance(r, now)
		if n := len(l.window()); cap(l.entries) > max(minLog, 4*n+3) {
			t.Errorf("capacity for %d entries = %d, want at most about four times that", n, cap(l.entries))
		}
		now += sec
	}
	l.advance(r, now)
	if n := len(l.window()); n != 0 || cap(l.entries) > minLog {
		t.Errorf("empty log: %d entries, capacity %d, want 0 and at most %d", n, cap(l.entries), minLog)
	}
}
