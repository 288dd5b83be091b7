package memstore

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// The bubble does not end before the janitor does, so this also shows that Close joins it.
func TestJanitorForgetsSpentKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{SweepInterval: 10 * time.Second})
		defer s.Close()
		r := newRule(t, limiter.Rule{
			Zone: s.Open("z"), Algorithm: limiter.Algorithm{Kind: limiter.SlidingWindowLog}, Limit: limiter.Limit{Events: 9, Window: 30 * time.Second},
		})
		take(t, s, limiter.At(time.Now()), r, "early")
		time.Sleep(15 * time.Second)
		take(t, s, limiter.At(time.Now()), r, "late")

		for _, step := range []struct {
			sleep time.Duration
			keys  int
		}{
			{25*time.Second - 1, 2}, // 40 s from the start: the early key was reset at 30 s, too late for the sweep of 30 s
			{1, 1},
			{10*time.Second - 1, 1}, // 50 s: the late key was reset at 45 s
			{1, 0},
		} {
			time.Sleep(step.sleep)
			synctest.Wait()
			if got := s.Open("z").Stats().Keys; got != step.keys {
				t.Errorf("keys at %v = %d, want %d", time.Now(), got, step.keys)
			}
		}
	})
}

// TestSweepKeepsWhatIsUsed uses a key again after it has its full limit back, and another one only once.
func TestSweepKeepsWhatIsUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{})
		defer s.Close()
		r := newRule(t, limiter.Rule{Zone: s.Open("z"), Limit: limiter.Limit{Events: 9, Window: time.Millisecond}})
		take(t, s, limiter.At(time.Now()), r, "once")
		take(t, s, limiter.At(time.Now()), r, "twice")
		time.Sleep(15 * time.Second)
		take(t, s, limiter.At(time.Now()), r, "twice")
		for _, step := range []struct {
			sleep time.Duration
			keys  int
		}{
			{15*time.Second - 1, 2},
			{1, 1}, // the third sweep, 30 s from the start
			{20*time.Second - 1, 1},
			{1, 0},
		} {
			time.Sleep(step.sleep)
			synctest.Wait()
			if got := s.Open("z").Stats().Keys; got != step.keys {
				t.Errorf("keys at %v = %d, want %d", time.Now(), got, step.keys)
			}
		}
	})
}

func TestSweepKeepsWhatIsNotSpent(t *testing.T) {
	s := open(t)
	r := hourly(t, s, 60, 10)
	denied := newRule(t, limiter.Rule{ID: 2, Zone: s.Open("z"), Limit: limiter.Limit{Events: 60, Window: time.Hour, Burst: 1}})
	take(t, s, start, r, "used")          // resets after a minute
	take(t, s, start, denied, "denied")   // so does this
	take(t, s, start+1, denied, "denied") // but its denial is no news for an hour
	for _, step := range []struct {
		at   limiter.Instant
		keys int
	}{
		{60 * second, 2},
		{62 * second, 1},
		{3600 * second, 1},
		{3602 * second, 0},
	} {
		s.sweep(start + step.at)
		if got := s.Open("z").Stats().Keys; got != step.keys {
			t.Errorf("keys after a sweep at start + %v = %d, want %d", step.at, got, step.keys)
		}
	}
}
