package redisconn

import (
	"cmp"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"
)

// BreakerOptions say when a primary gets no more calls, and when it gets them again. See [Breaker].
type BreakerOptions struct {
	Failures   int           // that open a breaker. Default: 5
	Within     time.Duration // the time in which failures are counted. Default: 10 s
	ProbeEvery time.Duration // the time between two probes of a primary that fails. Default: 1 s
	Probes     int           // good ones in a row that close a breaker. Default: 3
}

func (o BreakerOptions) withDefaults() BreakerOptions {
	o.Failures = cmp.Or(max(o.Failures, 0), 5)
	o.Within = cmp.Or(max(o.Within, 0), 10*time.Second)
	o.ProbeEvery = cmp.Or(max(o.ProbeEvery, 0), time.Second)
	o.Probes = cmp.Or(max(o.Probes, 0), 3)
	return o
}

// A BreakerState says whether a primary gets calls.
type BreakerState uint8

const (
	Closed   BreakerState = iota // it does
	HalfOpen                     // it does not, but has answered a probe
	Open                         // it does not
)

func (s BreakerState) String() string { return [...]string{"closed", "half-open", "open"}[s] }

// A Breaker is the circuit breaker of one primary. It is closed at first. It opens
//
//   - when the primary refuses a connection,
//   - when the primary is silent: it has answered nothing for three times Options.Timeout after it
//     was asked,
//   - after some failures that are also a fifth of all pipelines. A pipeline fails when its
//     connection breaks, when the primary says that it is not ready, and when its replies take
//     longer than Options.Timeout.
//
// While it is open, calls fail with ErrOpen at once, and probes look for the primary. Some good
// ones in a row close it.
type Breaker struct {
	Addr    string
	State   BreakerState
	Err     error         // ErrOpen with the newest failure; nil while it is closed
	Latency time.Duration // of the newest probe that was answered; 0: there was none
}

// leastRatio is the fraction of the pipelines that fail at least when failures open a breaker.
const leastRatio = 0.2

// A breaker is gobreaker's, which counts failures and knows the states. It opens at once when the
// primary is gone, and no call goes through it, so that only probes close it.
type breaker struct {
	counts *gobreaker.TwoStepCircuitBreaker[any]
	gone   atomic.Bool // a failure opens it, whatever was counted
	state  atomic.Uint32
	reason atomic.Pointer[error] // ErrOpen with the newest failure
}

func newBreaker(o BreakerOptions) *breaker {
	b := new(breaker)
	o = o.withDefaults()
	b.counts = gobreaker.NewTwoStepCircuitBreaker[any](gobreaker.Settings{
		MaxRequests: uint32(o.Probes), Interval: o.Within, BucketPeriod: o.Within / 10, Timeout: o.ProbeEvery,
		ReadyToTrip: func(c gobreaker.Counts) bool {
			many := int(c.TotalFailures) >= o.Failures && float64(c.TotalFailures) >= leastRatio*float64(c.Requests)
			return many || b.gone.Load()
		},
		OnStateChange: func(_ string, _, to gobreaker.State) {
			b.state.Store(uint32(to)) // the constants have the same order
		},
	})
	return b
}

func (b *breaker) current() BreakerState { return BreakerState(b.state.Load()) }

// admits reports whether the primary gets calls.
func (b *breaker) admits() bool { return b.current() == Closed }

// count counts a pipeline, or the probe of an open breaker. It does nothing before the time of the
// next probe.
func (b *breaker) count(err error) {
	done, notYet := b.counts.Allow()
	if notYet != nil {
		return
	}
	if err != nil {
		reason := fmt.Errorf("%w: %w", ErrOpen, err)
		b.reason.Store(&reason)
	}
	done(err)
}

// trip opens the breaker because the primary is gone.
func (b *breaker) trip(err error) {
	if b.admits() {
		b.gone.Store(true)
		b.count(err)
		b.gone.Store(false)
	}
}

// err returns the error of calls that the breaker does not admit. It has failed before.
func (b *breaker) err() error { return *b.reason.Load() }

var (
	errSilent = errors.New("the primary is silent")
	errSlow   = errors.New("the primary answers too slowly")
)
