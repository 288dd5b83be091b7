package redisstore

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/redisconn"
)

// TestLate maps the errors of calls. A call that may have had an effect must not count as not
// asked, because its events would be debited twice.
func TestLate(t *testing.T) {
	for _, test := range []struct {
		err            error
		late, notAsked bool
	}{
		{nil, false, false},
		{redisconn.ErrTimeout, true, false},
		{redisconn.ErrUnsent, true, true},
		{redisconn.ErrBusy, true, true},
		{redisconn.ErrOpen, false, true},
		{redisconn.ErrNoPrimary, false, true},
		{redisconn.ErrMemory, false, true},
		{redisconn.ErrClosed, false, false},
		{io.ErrUnexpectedEOF, false, false},
	} {
		for _, err := range []error{test.err, wrapped(test.err)} {
			got := late(err)
			if errors.Is(got, limiter.ErrLate) != test.late || errors.Is(got, limiter.ErrNotAsked) != test.notAsked {
				t.Errorf("late(%v) = %v, want late: %v, not asked: %v", err, got, test.late, test.notAsked)
			}
			if !errors.Is(got, test.err) {
				t.Errorf("late(%v) = %v, want it to wrap the error", err, got)
			}
		}
	}
}

// wrapped returns err with its reason around it, as redisconn returns most errors.
func wrapped(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", err, io.EOF)
}
