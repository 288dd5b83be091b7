package memstore

import (
	"math"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// A coarseSecond is an instant in units of 2^20 µs, about a second, cut off. It serves where it does not matter whether something
// is forgotten a second later, and takes half the memory. Ticks last until the year 2106; later instants are the last.
type coarseSecond uint32

const coarseSecondBits = 20

// coarseSecondOf returns the tick that now is in.
func coarseSecondOf(now limiter.Instant) coarseSecond {
	return coarseSecond(min(max(now>>coarseSecondBits, 0), math.MaxUint32))
}

// coarseSecondAfter returns the first tick that begins after at.
func coarseSecondAfter(at limiter.Instant) coarseSecond {
	return coarseSecond(min(max(at>>coarseSecondBits+1, 0), math.MaxUint32))
}
