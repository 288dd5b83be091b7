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

	// Refund gives back cost events that were taken at the instant taken: into the (sub-)window they were taken in, or
	// nowhere when that has passed. To a bucket it gives back what of them could not have been refilled since. Whatever was
	// taken in between, no more can be taken afterwards than if the take had never been.
	//
	// taken is Decision.At of the take; given that, a refund at the same instant undoes the take exactly, and a later one does
	// but for a bucket that was not full: it may lack for good what it has accrued in between, at most cost events. The reading
	// of the clock that the take was asked with does as well, unless it was late: then events may be lost, and none is given
	// away.
	Refund(r *Rule, now, taken Instant, cost int64)
}

// NewCount returns a count without consumption for the algorithm a, and for no other.
func NewCount(a Algorithm) Count {
	if n := a.StateSize(); n > 0 {
		return make(State, n)
	}
	return new(slidingLog)
}
