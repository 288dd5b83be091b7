package lease

import (
	"errors"
	"math/rand/v2"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// Options configure a [Store]. The zero value is ready to use.
type Options struct {
	// Timeout is how long a take waits for the lender. Default: 50 ms.
	Timeout time.Duration

	// Nodes returns how many nodes of the fleet are alive, this one included. Default: 1.
	Nodes func() int

	// OutageNodes returns how many nodes share the limits while the lender is in an outage. It should
	// be too large rather than too small. Default: Nodes.
	OutageNodes func() int

	// ProbeEvery is after what time a lender in an outage is asked again: what takes are told that
	// nothing but the lender can admit. Default: 1 s.
	ProbeEvery time.Duration

	// Clock returns the instants that takes are decided at: it is the clock of this node. It must
	// never go back. Default: the store's own clock, see [Store.At].
	Clock func() limiter.Instant

	// Attended has the store start no goroutine. Instead, Attend is to be called about every 10 ms of
	// Clock: so a simulation can go through hours in seconds.
	Attended bool

	// Random returns a number in [0, 1), by which nodes spread what they would do at the same instant.
	// A simulation that is to repeat itself brings its own. Default: rand.Float64.
	Random func() float64

	// Observe is called after each call to the lender with how long it took and how it failed, if
	// it did. It must not block. Default: nothing.
	Observe func(took time.Duration, err error)
}

// ErrTimeout is the error of takes that the lender did not answer in time.
var ErrTimeout = errors.New("lease: the store has not answered in time")

func (o Options) withDefaults() Options {
	if o.Timeout <= 0 {
		o.Timeout = 50 * time.Millisecond
	}
	if o.Nodes == nil {
		o.Nodes = func() int { return 1 }
	}
	if o.OutageNodes == nil {
		o.OutageNodes = o.Nodes
	}
	if o.ProbeEvery <= 0 {
		o.ProbeEvery = time.Second
	}
	if o.Random == nil {
		o.Random = rand.Float64
	}
	if o.Observe == nil {
		o.Observe = func(time.Duration, error) {}
	}
	return o
}
