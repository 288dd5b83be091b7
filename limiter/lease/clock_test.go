package lease

import (
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// TestReading compares the wall clock and the monotonic clock while they run, are set and stop.
func TestReading(t *testing.T) {
	const ms, s, h = time.Millisecond, time.Second, time.Hour
	for _, test := range []struct {
		name  string
		steps []reading // ahead: what the wall clock reads; skipped: what is wanted
	}{
		{"both go on", []reading{{1 * s, 1 * s, 0}, {2 * s, 2 * s, 0}, {2 * h, 2 * h, 0}}},
		{"the host is suspended twice", []reading{
			{1 * s, 1 * s, 0}, {1*s + ms, 1*h + 1*s, 1*h - ms}, {2 * s, 1*h + 2*s - ms, 1*h - ms}, {3 * s, 3*h + 3*s - ms, 3*h - ms},
		}},
		{"the wall clock is corrected by little all the time", []reading{
			{1 * s, 1*s + 50*ms, 0}, {2 * s, 2*s + 100*ms, 0}, {3 * s, 3*s + 150*ms, 0}, {4 * s, 4*s + 200*ms, 0},
		}},
		{"small corrections add up within a second", []reading{{100 * ms, 160 * ms, 0}, {200 * ms, 320 * ms, 120 * ms}}},
		{"the wall clock is set back", []reading{{1 * s, 1*s - h, 0}, {2 * s, 2*s - h, 0}}},
		{"it is set back and the host is then suspended", []reading{{100 * ms, 100*ms - h, 0}, {200 * ms, 300*ms + h, 2*h + 100*ms}}},
		{"a late reading", []reading{{2 * s, 2*s + h, h}, {1 * s, 1 * s, h}, {3 * s, 3*s + h, h}}},
	} {
		var r reading
		for i, step := range test.steps {
			if r.outdated(step.mono, step.ahead) {
				r = r.observe(step.mono, step.ahead)
			}
			if r.skipped != step.skipped {
				t.Errorf("%s: skipped after reading %d = %v, want %v", test.name, i+1, r.skipped, step.skipped)
			}
		}
	}
}

// TestClock reads one clock by At and by Now.
func TestClock(t *testing.T) {
	s := New(deadLender{}, Options{})
	defer s.Close()
	before := s.At(time.Now())
	now := s.Now()
	if after := s.At(time.Now()); now < before || now > after {
		t.Errorf("now = %d, want it between %d and %d", now, before, after)
	}
}

// TestClockNeverGoesBack reads a clock from several goroutines while the host is suspended and the
// wall clock is set.
func TestClockNeverGoesBack(t *testing.T) {
	c := newClock(time.Now())
	var ahead atomic.Int64 // how far the wall clock is ahead of the monotonic one
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			last := instant(0)
			for i := range 20_000 {
				switch i % 300 {
				case 100:
					ahead.Add(int64(time.Minute))
				case 200:
					ahead.Add(int64(-90 * time.Second))
				}
				mono := time.Since(c.began)
				now := c.instant(mono, mono+time.Duration(ahead.Load()))
				if now < last {
					t.Errorf("instant after %d = %d, want none earlier", last, now)
				}
				last = now
			}
		})
	}
	readers.Wait()
	if skipped := c.last.Load().skipped; skipped < time.Minute {
		t.Errorf("skipped = %v, want some minutes", skipped)
	}
}

// TestSuspendedNode suspends a node with a lease and a remembered denial. Afterwards the node has
// neither.
func TestSuspendedNode(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		wide, narrow := n.fixed("zone", 1, 10_000), n.fixed("zone", 2, 10)
		n.warm(wide, "key")
		n.denied(narrow, "key", 11, limiter.FromStore)
		n.denied(narrow, "key", 11, limiter.FromRememberedDenial)
		before := n.now()
		n.suspend(time.Hour)
		if got, want := n.now().since(before), time.Hour.Microseconds(); got != want {
			t.Errorf("time that has passed on the clock while suspended = %d µs, want %d", got, want)
		}
		n.allowed(wide, "key", 1, limiter.FromStore)
		n.denied(narrow, "key", 11, limiter.FromStore)
	})
}

// TestInstantPlus adds times to instants. No sum is later than never.
func TestInstantPlus(t *testing.T) {
	for _, test := range []struct {
		at   instant
		us   int64
		want instant
	}{
		{7, 3, 10},
		{7, -10, -3},
		{-7, 10, 3},
		{7, math.MaxInt64 - 8, never - 1},
		{7, math.MaxInt64 - 7, never},
		{7, math.MaxInt64 - 6, never},
		{never, 0, never},
		{never, 1, never},
		{0, math.MaxInt64, never},
		{-1, math.MaxInt64, never - 1},
	} {
		if got := test.at.plus(test.us); got != test.want {
			t.Errorf("instant(%d).plus(%d) = %d, want %d", test.at, test.us, got, test.want)
		}
		if test.want < never && test.want.since(test.at) != test.us {
			t.Errorf("instant(%d).since(%d) = %d, want %d", test.want, test.at, test.want.since(test.at), test.us)
		}
	}
}

// TestNeverForCaller checks that never is limiter.Never for a caller of the store.
func TestNeverForCaller(t *testing.T) {
	if got := never.forCaller(); got != limiter.Never {
		t.Errorf("never for a caller = %d, want %d", got, limiter.Never)
	}
}
