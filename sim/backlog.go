package sim

import (
	"math/bits"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// A backlog finds the least burst of a token bucket at one rate: the most that the bucket would ever
// lack if it admitted everything. After each request it lacks what it lacked before, less the refill
// and at least nothing, and the cost of the request. Queueing theory calls this Lindley's recursion.
type backlog struct {
	at    int64
	lacks int64 // whole events, rounded up
	part  int64 // of the next one that has accrued, in 1/per events; 0 if lacks is
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
