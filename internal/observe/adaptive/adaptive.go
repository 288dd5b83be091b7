// Package adaptive learns how many requests an upstream can work on at once, and rejects requests
// above that number. It is for upstreams whose limit nobody can write down.
//
// # Two limits
//
// The limit in force is the lower of two limits. The adaptive limiter of failsafe-go learns the
// first one: that limit falls when latencies rise above their usual level, and rises while they do
// not. Alone, it takes the latency of a long incident for the usual one after some minutes, and
// then rejects nothing. So there is a second limit, the guard, which knows no usual latency: it
// shrinks while the median latency is at or above the highest latency that operators accept
// (guard.go). The learned limit does not learn from responses that are as slow as that.
//
// # Keys
//
// Requests of keys above their fair share are rejected first (shares.go).
//
// # What is measured
//
// A request is in flight until its response has ended. Its latency is the time from the end of its
// body to the start of its response, so clients that send or read slowly do not make an upstream
// look slow. Fast failures are not measured, because they would make a broken upstream look quick.
package adaptive

import (
	"hash/maphash"
	"sync"
	"time"

	"github.com/failsafe-go/failsafe-go/adaptivelimiter"
)

// Settings are what operators set.
type Settings struct {
	MaxLatency time.Duration // the limit shrinks while the median latency is this high or higher
	Min, Max   int           // bounds of the limit
}

const (
	// The learned limit is at most headroom times the number of requests in flight, or unlearned if
	// that is more: few requests in flight are no reason to reject a burst.
	headroom, unlearned = 5, 100

	// remembers is the time over which the highest number of requests in flight counts for headroom.
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

// New returns a limiter whose limit is the highest one at first.
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

// Limit returns the number of requests that may be in flight.
func (l *Limiter) Limit() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.limitLocked()
}

func (l *Limiter) limitLocked() int { return min(int(l.guard.limit), l.learned.Limit()) }

// InFlight returns the number of requests in flight.
func (l *Limiter) InFlight() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.shares.inFlight
}

// Acquire reports whether the limit admits one more request of a key. It returns a permit if the
// limit admits the request, or if enforced is false.
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
