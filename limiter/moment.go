package limiter

import "math"

// A moment is an instant of a node's clock in milliseconds, rounded down, modulo 2^32: half of the memory, and enough for what is
// compared within weeks.
type moment uint32

func momentOf(i Instant) moment { return moment(uint64(i) / 1000) }

// roundUp returns the first instant from i on that a moment stands for exactly.
func roundUp(i Instant) Instant { return i + 999 - (i+999)%1000 }

// after reports whether m is later than o, if they are less than 24 days apart.
func (m moment) after(o moment) bool { return int32(m-o) > 0 }

// since returns the µs from o to m, and 0 when o is later.
func (m moment) since(o moment) int64 { return max(0, int64(int32(m-o))*1000) }

// furthest is how much later than another a moment can be, in µs.
const furthest = math.MaxInt32 * 1000
