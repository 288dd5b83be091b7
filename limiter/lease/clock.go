package lease

import (
	"sync/atomic"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// An instant is a point in time by this node's clock, in whole microseconds since the Unix epoch.
// That clock never steps back: see clock.
//
// A limiter.Instant is by the clock of the lender. The two cannot be compared. Only the time
// between two instants, in µs, means the same by both clocks.
//
// Callers of a [Store] know no type but limiter.Instant. fromCaller converts the instants that they
// pass, and forCaller those in the decisions that they get.
type instant int64

// never is later than every instant.
const never = instant(limiter.Never)

// fromCaller returns the instant that a caller of the store gives.
func fromCaller(i limiter.Instant) instant { return instant(i) }

// forCaller returns i as callers of the store see it.
func (i instant) forCaller() limiter.Instant { return limiter.Instant(i) }

// plus returns the instant us µs after i, or never if that does not fit.
func (i instant) plus(us int64) instant {
	if i > 0 && us > int64(never-i) {
		return never
	}
	return i + instant(us)
}

// since returns how long i is after earlier, in µs.
func (i instant) since(earlier instant) int64 { return int64(i - earlier) }

const (
	// leap is how far the wall clock must run ahead of the monotonic clock to tell a suspension
	// from the small corrections of a synchronized clock.
	leap = 100 * time.Millisecond

	// compareEvery is how often the two clocks are compared when neither leaps.
	compareEvery = time.Second
)

// A clock returns instants that never go back. It follows the monotonic clock of the process. It
// skips time in which only the wall clock went on: the host was suspended, and for everybody else
// leases and remembered denials expired meanwhile.
//
// If the wall clock is set forward, that looks like a suspension. It is harmless, because leases
// only expire early. If the wall clock is set back, nothing changes. A clock has no lock and may be
// read concurrently.
type clock struct {
	began time.Time
	last  atomic.Pointer[reading]
}

func newClock(began time.Time) *clock {
	c := &clock{began: began}
	c.last.Store(new(reading))
	return c
}

// instantOf returns t, which was read from [time.Now] and so from both clocks, as an instant.
func (c *clock) instantOf(t time.Time) instant {
	return c.instant(t.Sub(c.began), time.Duration(t.UnixNano()-c.began.UnixNano()))
}

// instant returns the instant at which the clocks read mono and wall, counted from the beginning.
func (c *clock) instant(mono, wall time.Duration) instant {
	last := c.last.Load()
	for last.outdated(mono, wall) {
		next := last.observe(mono, wall)
		if c.last.CompareAndSwap(last, &next) {
			last = &next
			break
		}
		last = c.last.Load()
	}
	return instant(c.began.UnixMicro()).plus((mono + last.skipped).Microseconds())
}

// A reading is what both clocks read: a pure calculator.
type reading struct {
	mono    time.Duration // from the beginning
	ahead   time.Duration // how far the wall clock is ahead of the monotonic one
	skipped time.Duration
}

// outdated reports whether the clocks, which now read mono and wall, should be compared again. It
// reports false for a reading older than r, which is from a goroutine that was overtaken.
func (r *reading) outdated(mono, wall time.Duration) bool {
	moved := wall - mono - r.ahead
	return mono >= r.mono && (moved > leap || moved < -leap || mono-r.mono >= compareEvery)
}

// observe returns the reading after r when the clocks read mono and wall.
func (r *reading) observe(mono, wall time.Duration) reading {
	next := reading{mono: mono, ahead: wall - mono, skipped: r.skipped}
	if moved := next.ahead - r.ahead; moved > leap {
		next.skipped += moved
	}
	return next
}
