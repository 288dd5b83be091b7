package redistest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"
)

const (
	step     = 10 * time.Millisecond  // between two attempts
	patience = 15 * time.Second       // for conditions that take a few seconds on an idle machine
	reply    = 500 * time.Millisecond // the time a server has to answer
)

// Eventually polls until holds returns true. It fails the test after 15 seconds. what names the condition.
// Use Eventually to wait for another process.
func Eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	Within(t, patience, what, holds)
}

// Within does what Eventually does, but fails the test after patience.
func Within(t testing.TB, patience time.Duration, what string, holds func() bool) {
	t.Helper()
	err := untilWithin(patience, func(context.Context) error {
		if !holds() {
			return errors.New("it does not hold")
		}
		return nil
	})
	if err != nil {
		t.Fatalf("redistest: waiting for %s: %v", what, err)
	}
}

// until does what untilWithin does, with the usual patience.
func until(done func(ctx context.Context) error) error { return untilWithin(patience, done) }

// untilWithin calls done until done returns nil. After patience, it returns the last error. The context of
// done leaves time for a few quick commands.
func untilWithin(patience time.Duration, done func(ctx context.Context) error) error {
	deadline := time.Now().Add(patience)
	tick := time.NewTicker(step)
	defer tick.Stop()
	for {
		ctx, cancel := context.WithTimeout(context.Background(), reply)
		err := done(ctx)
		cancel()
		if err == nil {
			return nil
		}
		if now := <-tick.C; now.After(deadline) {
			return fmt.Errorf("%w, for %v", err, patience)
		}
	}
}
