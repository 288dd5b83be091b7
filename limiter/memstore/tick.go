package memstore

import (
	"math"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// A tick is an instant in units of 2^20 µs, about a second, cut off. It serves where it does not matter whether something
// is forgotten a second later, and takes half the memory. Ticks last until the year 2106; later instants are the last.
type tick uint32

const tickBits = 20

// tickOf returns the tick that now is in.
func tickOf(now limiter.Instant) tick {
	return tick(min(max(now>>tickBits, 0), math.MaxUint32))
}

// tickAfter returns the first tick that begins after at.
func tickAfter(at limiter.Instant) tick {
	return tick(min(max(at>>tickBits+1, 0), math.MaxUint32))
}
