package stores

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fleetlimit/fleetlimit/redisconn"
)

func TestOutageLog(t *testing.T) {
	var l outageLog
	start := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for i, step := range []struct {
		at       time.Duration
		fails    bool
		reported bool   // the step begins or ends an outage
		failures uint64 // of the outage that ends
	}{
		{at: 0},
		{at: time.Second, fails: true, reported: true},
		{at: time.Second, fails: true},
		{at: 2 * time.Second}, // from another primary, which is not down
		{at: 3 * time.Second, fails: true},
		{at: 2500 * time.Millisecond, fails: true}, // of a request that began before the last failure
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
			got = l.failed(now)
		} else {
			got, failures = l.answered(now)
		}
		if got != step.reported || failures != step.failures {
			t.Errorf("step %d at %v: reported = %v with %d failures, want %v with %d",
				i, step.at, got, failures, step.reported, step.failures)
		}
	}
}

// TestNoteOncePerOutage has a store fail and recover.
func TestNoteOncePerOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := new(observer)
		s := &Store{observer: told, name: "redis"}
		note := func(n int, err error) {
			for range n {
				s.Note(time.Now(), err)
				time.Sleep(time.Millisecond)
			}
		}
		refused := errors.New("connection refused")
		note(10, nil)
		note(10, redisconn.ErrClosed) // a configuration that has ended
		note(1000, refused)
		note(10, nil)
		note(10, refused)
		time.Sleep(quietAfter)
		note(1000, nil)
		if want := []string{"redis failed: connection refused", "redis recovered after 1010"}; !slices.Equal(told.told, want) {
			t.Errorf("told %q, want %q", told.told, want)
		}
	})
}
