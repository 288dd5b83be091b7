package lease

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/limiter/internal/keyed"
)

// A Store is a [limiter.Store] that decides from leases. Use [New].
type Store struct {
	lender       limiter.Lender
	options      Options
	wheel        wheel
	background   backgroundLimit
	clock        *clock
	roundTrip    atomic.Int64 // of calls to the lender, in µs, smoothed
	stats        counters
	leasingEnded atomic.Bool // see EndLeasing

	mu    sync.Mutex           // guards what follows
	zones map[string]*Accounts // that are open, by name

	attended int   // how many times Attend was called
	due      []due // room for the accounts that Attend attends to

	stop    chan struct{}
	closing sync.Once
	janitor sync.WaitGroup
}

var (
	_ limiter.Promiser = (*Store)(nil)
	_ limiter.Operator = (*Store)(nil)
)

// New returns a store without zones that leases from lender. Unless the store is attended, New
// starts its goroutine. Close ends it.
func New(lender limiter.Lender, o Options) *Store {
	s := &Store{
		lender: lender, options: o.withDefaults(), clock: newClock(time.Now()), zones: make(map[string]*Accounts), stop: make(chan struct{}),
	}
	if s.options.Clock == nil {
		s.options.Clock = s.Now
	}
	s.wheel.next = int64(s.now()) / tick
	if !s.options.Attended {
		s.janitor.Go(s.run)
	}
	return s
}

// At returns t, which was just read from [time.Now], as an instant of the store's clock. That clock
// follows the monotonic clock of the process, and skips the time in which the host was suspended.
func (s *Store) At(t time.Time) limiter.Instant { return s.clock.instantOf(t).forCaller() }

// Now returns the instant by the store's clock.
func (s *Store) Now() limiter.Instant { return s.At(time.Now()) }

// now returns the instant by Options.Clock.
func (s *Store) now() instant { return fromCaller(s.options.Clock()) }

// EndLeasing has the store request no more leases, because this node is about to end. Takes spend
// the leases that the store holds, and after that the lender decides each take. Close returns the
// unspent events.
func (s *Store) EndLeasing() { s.leasingEnded.Store(true) }

// uptime returns for how long the store has existed, by the monotonic clock of the process. It is
// not 0.
func (s *Store) uptime() time.Duration { return time.Since(s.clock.began) + 1 }

// Close returns all leases and ends the store's goroutine. The lender decides later takes, because
// requests may outlive their configuration.
func (s *Store) Close() {
	s.closing.Do(func() { close(s.stop) })
	s.janitor.Wait()
	s.mu.Lock()
	open := slices.Collect(maps.Values(s.zones))
	for _, z := range open {
		z.closed.Store(true)
	}
	clear(s.zones)
	s.mu.Unlock()
	s.drain(open...)
}

// Open returns the zone of this name. It makes a new one unless the zone is open.
func (s *Store) Open(name string) *Accounts {
	s.mu.Lock()
	defer s.mu.Unlock()
	z := s.zones[name]
	if z == nil {
		z = &Accounts{store: s, name: name, accounts: keyed.New[hot, cold, shardState](shardBits)}
		s.zones[name] = z
	}
	return z
}

func (s *Store) openZones() []*Accounts {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.zones))
}

// Options configure a [Store]. The zero value is ready to use.
type Options struct {
	// Timeout is how long a take waits for the lender. Default: 50 ms.
	Timeout time.Duration

	// Nodes returns how many nodes of the fleet are alive, this one included. Default: 1.
	Nodes func() int

	// OutageNodes returns how many nodes share the limits while the lender is in an outage. It
	// should be too large rather than too small. Default: Nodes.
	OutageNodes func() int

	// ProbeEvery is the time after which a lender in an outage is asked again. A take that only the
	// lender can admit is denied with this time until its retry instant. Default: 1 s.
	ProbeEvery time.Duration

	// Clock returns the instants that takes are decided at: it is the clock of this node. It must
	// never go back. Default: the store's own clock, see [Store.At].
	Clock func() limiter.Instant

	// Attended has the store start no goroutine. Instead, its user calls Attend about every 10 ms
	// of Clock. So a simulation can go through hours in seconds.
	Attended bool

	// After calls f when d has passed. It is called without a lock, so a simulation may call f at
	// once. Default: time.AfterFunc.
	After func(d time.Duration, f func())

	// Random returns a number in [0, 1). With it, nodes spread what they would otherwise do at the
	// same instant. A simulation that must be repeatable has its own. Default: rand.Float64.
	Random func() float64

	// Observe is called after each call to the lender, with how long the call took and with its
	// error. It must not block. Default: nothing.
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
	if o.After == nil {
		o.After = func(d time.Duration, f func()) { time.AfterFunc(d, f) }
	}
	if o.Random == nil {
		o.Random = rand.Float64
	}
	if o.Observe == nil {
		o.Observe = func(time.Duration, error) {}
	}
	return o
}

// Peek implements [limiter.Store]. Accounts that know enough decide, and the lender decides the
// other takes. An account without a remembered denial allows a take, even if the take would have to
// wait for a lease.
func (s *Store) Peek(ctx context.Context, now limiter.Instant, takes []limiter.Take) error {
	return s.peek(ctx, now, takes, false)
}

// Preview decides as Take would decide now, and consumes nothing. Unlike Peek, it asks the lender
// about each take for which there is no lease.
func (s *Store) Preview(ctx context.Context, now limiter.Instant, takes []limiter.Take) error {
	return s.peek(ctx, now, takes, true)
}

// peek decides takes from the accounts that know enough, and has the lender decide the others.
func (s *Store) peek(ctx context.Context, now limiter.Instant, takes []limiter.Take, needLeases bool) error {
	var unknown []int
	for i := range takes {
		if takes[i].Err = nil; !s.knows(&takes[i], fromCaller(now), needLeases) {
			unknown = append(unknown, i)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	delegated := pick(takes, unknown)
	s.stats.delegated.Add(1)
	err := s.lender.Peek(ctx, now, delegated)
	for i, j := range unknown {
		takes[j].Decision, takes[j].Err = delegated[i].Decision, delegated[i].Err
	}
	return err
}

// knows decides k from its account, and reports whether the account knows enough. Under a strict
// rule, an account knows denials only. If needsLease is set, the account allows k only if it holds
// a lease for it.
func (s *Store) knows(k *limiter.Take, now instant, needsLease bool) (known bool) {
	s.withAccount(k.Rule, k.Key, func(a account) {
		known = a.peekWaiting(k.Rule, now, k.Cost, waitOf(k), &k.Decision)
		if known && k.Decision.OK {
			known = !k.Rule.Strict && (!needsLease || a.leased(k.Rule, now) >= k.Cost)
		}
	})
	return known
}

// pick returns the takes at these indices.
func pick(takes []limiter.Take, indices []int) []limiter.Take {
	picked := make([]limiter.Take, len(indices))
	for i, j := range indices {
		picked[i] = takes[j]
	}
	return picked
}
