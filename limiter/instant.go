package limiter

import (
	"math"
	"time"
)

// An Instant is a point in time in whole microseconds since the Unix epoch, by the clock of a
// store. For counts in memory that is the wall clock of the node, for counts in Redis the clock of
// Redis. Instants by different clocks cannot be compared: only the time between two instants means
// the same by both.
//
// The clock of a store may step back. A reading that is at most [LateReading] older than the newest
// one that a count has seen is late: a goroutine read the clock and was then overtaken. The count
// decides as of the newest reading. An older reading means that the clock was set back. The count
// moves to the new time and keeps its consumption, so nobody waits for the clock to catch up and
// nobody gains an event.
type Instant int64

// Never is later than every instant: the RetryAt of a take that cannot succeed under its limit.
const Never Instant = math.MaxInt64

// LateReading is the greatest age of a late reading, in µs.
const LateReading = 1_000_000

// At returns t as an Instant, rounded down to a microsecond.
func At(t time.Time) Instant { return Instant(t.UnixMicro()) }

// Time returns i as a time.Time in UTC.
func (i Instant) Time() time.Time { return time.UnixMicro(int64(i)).UTC() }

// Unix returns i in seconds since the Unix epoch, rounded up.
func (i Instant) Unix() int64 {
	s := int64(i) / 1_000_000
	if int64(i)%1_000_000 > 0 {
		s++
	}
	return s
}

// SecondsUntil returns the time from now to i in seconds, rounded up, and 0 when i has passed.
func (i Instant) SecondsUntil(now Instant) int64 { return max(0, i-now).Unix() }

// follow returns the instant as of which a count decides if the clock reads now and its newest
// reading before was i. It reports whether the clock was set back in between.
func (i Instant) follow(now Instant) (at Instant, setBack bool) {
	if now < i-LateReading {
		return now, true
	}
	return max(i, now), false
}

// into returns the time from the beginning of i's window to i, in µs. Windows of this length follow
// each other from the Unix epoch.
func (i Instant) into(length int64) int64 {
	into := int64(i) % length
	if into < 0 {
		into += length
	}
	return into
}

// plus returns the instant us >= 0 after i, or Never when that is too late for an Instant.
func (i Instant) plus(us int64) Instant {
	if i > 0 && us > int64(Never-i) {
		return Never
	}
	return i + Instant(us)
}
