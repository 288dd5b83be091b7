// Package adaptive finds out how many requests an upstream can work on at once, and rejects those
// above that number. It is for what has no limit that anyone could write down.
//
// # Two limits
//
// The number in force is the lower of two. One is learned: it falls when latencies rise above what
// they usually are, and rises while they do not, by the adaptive limiter of failsafe-go. Alone, that
// takes the latency of a long incident for the usual one after some minutes, and sheds nothing any
// more. So there is a guard beside it, which knows no usual latency: it shrinks while the median of
// the latencies is above the highest one that operators accept (guard.go). Responses that are slower
// than that teach the learned limit nothing.
//
// # Keys
//
// Keys above their fair share are rejected first (shares.go).
//
// # What is measured
//
// A request is in flight until its response has ended. Its latency is the time until the response
// starts, from when its body was read: clients that send or read slowly do not make an upstream look
// slow. Fast failures are no latencies, because they would make a broken upstream look quick.
package adaptive

import (
	"hash/maphash"
	"sync"
	"time"

	"github.com/failsafe-go/failsafe-go/adaptivelimiter"
)

// Settings are what operators set.
type Settings struct {
	MaxLatency time.Duration // the median latency from which on the limit shrinks
	Min, Max   int           // bounds of the limit
}

const (
	// headroom is how many times the number of requests in flight the learned limit may be, and
	// unlearned what it may be in any case: few requests in flight are no reason to reject a burst.
	headroom, unlearned = 5, 100

	// remembers is how long the most requests in flight count for headroom.
	remembers = 10 * time.Minute
)

// A Limiter limits the requests in flight to an upstream. It is safe for concurrent use.
type Limiter struct {
	settings Settings
	seed     maphash.Seed
	learned  adaptivelimiter.AdaptiveLimiter[any]

	mu     sync.Mutex
	guard  guard
	shares shares
}

// New returns a limiter that begins with the highest limit.
func New(s Settings) *Limiter {
	learned := adaptivelimiter.NewBuilder[any]().
		WithLimits(uint(s.Min), uint(s.Max), uint(s.Max)).
		WithMaxLimitFunc(func(inFlight int) float64 { return float64(max(unlearned, headroom*inFlight)) }).
		WithMaxLimitStabilizationWindow(remembers).
		Build()
	return &Limiter{settings: s, seed: maphash.MakeSeed(), learned: learned, guard: newGuard(s)}
}

// Settings returns the settings of l.
func (l *Limiter) Settings() Settings { return l.settings }

// Limit returns how many requests may be in flight.
func (l *Limiter) Limit() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.limitLocked()
}

func (l *Limiter) limitLocked() int { return min(int(l.guard.limit), l.learned.Limit()) }

// InFlight returns how many requests are in flight.
func (l *Limiter) InFlight() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.shares.inFlight
}

// Acquire reports whether one more request of a key may be in flight. If it may, or if that is not
// enforced, it returns the permit of the request.
func (l *Limiter) Acquire(key []byte, enforced bool) (p *Permit, ok bool) {
	hash := maphash.Bytes(l.seed, key)
	l.mu.Lock()
	if ok = l.shares.admits(hash, l.limitLocked()); !ok && enforced {
		l.mu.Unlock()
		return nil, false
	}
	l.shares.begin(hash)
	l.guard.noteInFlight(l.shares.inFlight)
	l.mu.Unlock()
	return &Permit{limiter: l, key: hash}, ok
}
