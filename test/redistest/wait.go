package redistest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"
)

const (
	step     = 10 * time.Millisecond  // between two looks at something that is waited for
	patience = 15 * time.Second       // with what takes a few seconds on an idle machine
	reply    = 500 * time.Millisecond // how long a server may take to answer; one that hangs takes forever
)

// Eventually waits until something holds, and fails the test when it does not within some seconds; what names it. It
// is for what another process does in its own time and announces to nobody.
func Eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	err := until(func(context.Context) error {
		if !holds() {
			return errors.New("it does not hold")
		}
		return nil
	})
	if err != nil {
		t.Fatalf("redistest: waiting for %s: %v", what, err)
	}
}

// until calls done until it returns nil, or gives up after some seconds with what it returned last. The context that
// done gets is good for a few quick questions to a server.
func until(done func(ctx context.Context) error) error {
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
