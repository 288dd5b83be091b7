package stores

import (
	"errors"
	"fmt"
	"net"
	"syscall"
	"testing"

	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/limiter/lease"
	"github.com/fleetlimit/fleetlimit/redisconn"
)

func TestCause(t *testing.T) {
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	for want, errs := range map[string][]error{
		api.CauseTimeout:    {redisconn.ErrTimeout, redisconn.ErrUnsent, lease.ErrTimeout, limiter.ErrLate},
		api.CauseBreaker:    {fmt.Errorf("%w: 127.0.0.1:6379: %w", redisconn.ErrOpen, redisconn.ErrTimeout), fmt.Errorf("%w: %w", redisconn.ErrOpen, refused)},
		api.CauseMemory:     {fmt.Errorf("call: %w", redisconn.ErrMemory)},
		api.CauseQueue:      {redisconn.ErrBusy},
		api.CausePrimary:    {fmt.Errorf("%w: %w", redisconn.ErrNoPrimary, refused)},
		api.CauseConnection: {refused, fmt.Errorf("redisconn: %w", refused)},
		api.CauseClosed:     {redisconn.ErrClosed},
		api.CauseOther:      {errors.New("WRONGTYPE")},
	} {
		for _, err := range errs {
			if got := Cause(err); got != want {
				t.Errorf("cause of %q = %s, want %s", err, got, want)
			}
		}
	}
}
