package sim

import (
	"math/bits"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// A backlog finds the least burst of a token bucket at one rate: the highest number of events that the
// bucket would lack if it admitted all requests. At each request, that number falls by the refill, but
// not below 0, and then grows by the cost of the request. In queueing theory, this is Lindley's
// recursion.
type backlog struct {
	at    int64
	lacks int64 // events, rounded up
	part  int64 // accrued part of the next event, in 1/per events; 0 if lacks is 0
	least int64
}

func (b *backlog) add(at, cost int64, r *limiter.Rule) {
	refill, per := r.Rate()
	high, low := bits.Mul64(uint64(at-b.at), uint64(refill))
	low, carry := bits.Add64(low, uint64(b.part), 0)
	b.at = at
	if high += carry; high >= uint64(per) {
		b.lacks, b.part = 0, 0
	} else if q, rest := bits.Div64(high, low, uint64(per)); q >= uint64(b.lacks) {
		b.lacks, b.part = 0, 0
	} else {
		b.lacks, b.part = b.lacks-int64(q), int64(rest)
	}
	alone := b.lacks == 0
	if b.lacks += cost; alone {
		b.least = max(b.least, 1) // a cost above the burst counts as the burst
		return
	}
	b.least = max(b.least, b.lacks)
}
