package redistest

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestUntilHandsOnADeadline has a condition that holds at the third look.
func TestUntilHandsOnADeadline(t *testing.T) {
	calls := 0
	err := until(func(ctx context.Context) error {
		if _, ok := ctx.Deadline(); !ok {
			t.Error("the context has no deadline")
		}
		if calls++; calls < 3 {
			return errors.New("not yet")
		}
		return nil
	})
	if err != nil || calls != 3 {
		t.Errorf("until called %d times and returned %v, want 3 and no error", calls, err)
	}
}

// TestEventuallyGivesUp runs out of patience in a bubble, where that takes no time.
func TestEventuallyGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := &failingT{TB: t}
		start := time.Now()
		done := make(chan struct{})
		go func() {
			defer close(done)
			Eventually(fake, "a miracle", func() bool { return false })
		}()
		<-done
		if want := "redistest: waiting for a miracle: it does not hold, for 15s"; fake.said != want {
			t.Errorf("the test failed with %q, want %q", fake.said, want)
		}
		if took := time.Since(start); took < patience || took > patience+2*step {
			t.Errorf("it took %v, want %v", took, patience)
		}
	})
}

func TestEventuallyWaits(t *testing.T) {
	calls := 0
	Eventually(t, "the third look", func() bool { calls++; return calls == 3 })
	if calls != 3 {
		t.Errorf("it looked %d times, want 3", calls)
	}
}
