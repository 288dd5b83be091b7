package lease

import (
	"errors"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// Options say how a [Store] borrows.
type Options struct {
	// Timeout is how long a take waits for the lender at most. 50 ms when it is 0.
	Timeout time.Duration

	// Nodes returns how many nodes of the fleet are alive, this one included, as far as it knows. This one is alone when Nodes
	// is nil.
	Nodes func() int

	// Settled reports whether all other nodes count this one. Credit is given only while it does, and never when it is nil.
	Settled func() bool

	// Clock returns the same instants that takes are decided at: those of a clock that never goes back. That of the store when it
	// is nil: see [Store.At].
	Clock func() limiter.Instant

	// Observe is told how long each request to the lender took and what became of it. It must not block. It may be nil.
	Observe func(took time.Duration, err error)
}

// ErrTimeout says that the lender has not answered in time.
var ErrTimeout = errors.New("lease: the store has not answered in time")

func (o Options) withDefaults() Options {
	if o.Timeout <= 0 {
		o.Timeout = 50 * time.Millisecond
	}
	if o.Nodes == nil {
		o.Nodes = func() int { return 1 }
	}
	if o.Settled == nil {
		o.Settled = func() bool { return false }
	}
	if o.Observe == nil {
		o.Observe = func(time.Duration, error) {}
	}
	return o
}
