package limiter

import (
	"math"
	"time"
)

// An Instant is a point in time in whole microseconds since the Unix epoch.
//
// Instants come from a clock that may step back. Readings that are at most [LateReading] older than the newest one a
// count has seen are taken for late (a goroutine read the clock and was then overtaken) and decided as of the newest.
// Anything older means that the clock was set back: the count is moved to the new time with its consumption as it is,
// so nobody waits for the clock to catch up and nobody gains an event.
type Instant int64

// Never is later than every instant: the RetryAt of a take that cannot succeed under its limit.
const Never Instant = math.MaxInt64

// LateReading is how much older than the newest a reading of the clock may be before it counts as a step back.
const LateReading = 1_000_000 // µs

// At returns t as an Instant; what is finer than a microsecond is cut off.
func At(t time.Time) Instant { return Instant(t.UnixMicro()) }

// Time returns i as a time.Time in UTC.
func (i Instant) Time() time.Time { return time.UnixMicro(int64(i)).UTC() }

// Unix returns the first whole second since the Unix epoch that is not before i.
func (i Instant) Unix() int64 {
	s := int64(i) / 1_000_000
	if int64(i)%1_000_000 > 0 {
		s++
	}
	return s
}

// SecondsUntil returns the time from now to i in seconds, rounded up, and 0 when i has passed.
func (i Instant) SecondsUntil(now Instant) int64 {
	if i <= now {
		return 0
	}
	us := int64(i - now)
	s := us / 1_000_000
	if us%1_000_000 > 0 {
		s++
	}
	return s
}

// follow returns the instant to decide as of when the clock reads now and i was the newest reading before, and whether the
// clock was set back in between.
func (i Instant) follow(now Instant) (at Instant, setBack bool) {
	switch {
	case now >= i:
		return now, false
	case now >= i-LateReading:
		return i, false
	}
	return now, true
}

// into returns how far i is into its window, when windows of length µs follow each other from the Unix epoch.
func (i Instant) into(length int64) int64 {
	into := int64(i) % length
	if into < 0 {
		into += length
	}
	return into
}

// plus returns the instant us >= 0 after i, or Never when it is later than an Instant can say.
func (i Instant) plus(us int64) Instant {
	if i > 0 && us > int64(Never-i) {
		return Never
	}
	return i + Instant(us)
}
