package redisconn

import (
	"cmp"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"
)

// BreakerOptions say when a primary gets no more calls, and when it gets them again. See [Breaker].
type BreakerOptions struct {
	Failures   int           // number of failures that open a breaker. Default: 5
	Within     time.Duration // the time in which failures are counted. Default: 10 s
	ProbeEvery time.Duration // the time between two probes of a primary that fails. Default: 1 s
	Probes     int           // number of good probes in a row that close a breaker. Default: 3
}

func (o BreakerOptions) withDefaults() BreakerOptions {
	o.Failures = cmp.Or(max(o.Failures, 0), 5)
	o.Within = cmp.Or(max(o.Within, 0), 10*time.Second)
	o.ProbeEvery = cmp.Or(max(o.ProbeEvery, 0), time.Second)
	o.Probes = cmp.Or(min(max(o.Probes, 0), math.MaxUint32), 3)
	return o
}

// A BreakerState says whether a primary gets calls.
type BreakerState uint8

const (
	Closed   BreakerState = iota // the primary gets calls
	HalfOpen                     // the primary gets no calls, but has answered a probe
	Open                         // the primary gets no calls
)

func (s BreakerState) String() string { return [...]string{"closed", "half-open", "open"}[s] }

// A Breaker is the circuit breaker of one primary. It is closed at first. It opens
//
//   - when the primary refuses connections,
//   - when the primary is silent: it has answered nothing for three times Options.Timeout after it
//     was asked,
//   - after BreakerOptions.Failures failures in a row, or after as many failures within
//     BreakerOptions.Within if at least a fifth of the pipelines have failed. A pipeline fails when its
//     connection breaks, when the primary says that it is not ready, and when its replies take longer
//     than Options.Timeout.
//
// While it is open, calls fail with ErrOpen at once, and probes look for the primary.
// BreakerOptions.Probes good probes in a row close it.
type Breaker struct {
	Addr    string
	State   BreakerState
	Err     error         // ErrOpen with the newest failure; nil while it is closed
	Latency time.Duration // how long the newest answered pipeline or probe took; 0 if none was answered

	// Replaced reports that the server is no longer a primary, which closes its breaker too. Only
	// Options.OnBreaker gets a Breaker with Replaced set. Successor is the address of the primary that
	// has taken over the slots of the server, or the first of these slots. It is empty if no other
	// primary has taken over.
	Replaced  bool
	Successor string
}

// leastRatio is the least fraction of failed pipelines at which failures that are not in a row open a
// breaker.
const leastRatio = 0.2

// A breaker counts failures with gobreaker, which also holds the state. This type and the watcher add
// what gobreaker lacks: the breaker opens at once when the primary is gone, and probes find out whether
// the primary is back. With gobreaker alone a call would be the probe, and might wait for the primary.
// So no call goes through gobreaker. It only gets results, and the watcher says when to probe.
type breaker struct {
	mu      sync.Mutex
	results *gobreaker.CircuitBreaker[any]
	gone    bool // the next failure opens the breaker, whatever was counted

	state  atomic.Uint32         // gobreaker's state, to be read without its lock
	reason atomic.Pointer[error] // ErrOpen with the newest failure
}

// newBreaker returns a breaker that calls onOpen when it opens. onOpen must not block.
func newBreaker(o BreakerOptions, onOpen func()) *breaker {
	b := new(breaker)
	o = o.withDefaults()
	b.results = gobreaker.NewCircuitBreaker[any](gobreaker.Settings{
		MaxRequests: uint32(o.Probes), Interval: o.Within, BucketPeriod: o.Within / 10,
		Timeout: 1, // while it is open, the next result is that of a probe
		ReadyToTrip: func(c gobreaker.Counts) bool {
			often := int(c.TotalFailures) >= o.Failures && float64(c.TotalFailures) >= leastRatio*float64(c.Requests)
			return often || int(c.ConsecutiveFailures) >= o.Failures || b.gone
		},
		OnStateChange: func(_ string, _, to gobreaker.State) {
			b.state.Store(uint32(to)) // the constants have the same order
			if to == gobreaker.StateOpen {
				onOpen()
			}
		},
	})
	return b
}

func (b *breaker) current() BreakerState { return BreakerState(b.state.Load()) }

// admits reports whether the primary gets calls.
func (b *breaker) admits() bool { return b.current() == Closed }

// count counts the result of a pipeline. It does nothing after the breaker has opened.
func (b *breaker) count(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.admits() {
		b.noteLocked(err)
	}
}

// trip opens the breaker because the primary is gone.
func (b *breaker) trip(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.admits() {
		b.gone = true
		b.noteLocked(err)
		b.gone = false
	}
}

// probed notes the result of a probe of a primary that gets no calls.
func (b *breaker) probed(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.noteLocked(err)
}

func (b *breaker) noteLocked(err error) {
	if err != nil {
		reason := fmt.Errorf("%w: %w", ErrOpen, err)
		b.reason.Store(&reason)
	}
	_, _ = b.results.Execute(func() (any, error) { return nil, err })
}

// err returns the error of calls that the breaker does not admit. A failure must have been counted
// before.
func (b *breaker) err() error { return *b.reason.Load() }
