package stores

import (
	"errors"
	"net"

	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/limiter/lease"
	"github.com/fleetlimit/fleetlimit/redisconn"
)

// causes are the words for errors of stores. ErrOpen is the first, because the error of a breaker wraps
// the error that opened the breaker.
var causes = []struct {
	err  error
	word string
}{
	{redisconn.ErrOpen, api.CauseBreaker},
	{redisconn.ErrMemory, api.CauseMemory},
	{redisconn.ErrBusy, api.CauseQueue},
	{redisconn.ErrNoPrimary, api.CausePrimary},
	{redisconn.ErrTimeout, api.CauseTimeout},
	{lease.ErrTimeout, api.CauseTimeout},
	{limiter.ErrLate, api.CauseTimeout},
	{redisconn.ErrClosed, api.CauseClosed},
}

// Cause returns the word for err, which is why a store has not decided a take.
func Cause(err error) string {
	for _, c := range causes {
		if errors.Is(err, c.err) {
			return c.word
		}
	}
	if errors.As(err, new(net.Error)) {
		return api.CauseConnection
	}
	return api.CauseOther
}
