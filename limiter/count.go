package limiter

// A Count is what one key has consumed under one algorithm: a pure calculator, without clock, lock or I/O. It is not
// safe for concurrent use; a store holds one per key and guards it. The zero consumption is that of a new Count.
//
// The rule of each call says the limit; a count that was kept under another limit of the same algorithm carries its
// consumption over. cost must be at least 1.
type Count interface {
	// Take consumes cost events at now when the limit allows them.
	Take(r *Rule, now Instant, cost int64) Decision

	// Peek returns what Take would, and consumes nothing.
	Peek(r *Rule, now Instant, cost int64) Decision

	// Refund gives back cost events of a take, right after which seen was consumed: see [Decision.Seen]. They go into the
	// (sub-)window they were taken in, or nowhere when that has passed; into a bucket, as far as it would still lack them if
	// nothing else had been taken since. So when nothing was, it is as if the take had never been; else a bucket may get back
	// too little, by at most what has accrued since.
	//
	// No more can be taken afterwards than if the take had never been. For a bucket, this holds of takes that are refunded one
	// after another. When several are still to be refunded at a time, each was seen with the others: in any span, no more is
	// spent than the limit, what accrues in the span, and what was still to be refunded when it began.
	Refund(r *Rule, now Instant, seen Events, cost int64)
}

// NewCount returns a count without consumption for the algorithm a, and for no other.
func NewCount(a Algorithm) Count {
	if n := a.StateSize(); n > 0 {
		return make(State, n)
	}
	return new(slidingLog)
}
