package limiter

// A Count is what one key has consumed under one algorithm: a pure calculator without clock, lock
// or I/O. It is not safe for concurrent use; a store has one per key and guards it. A new count has
// consumed nothing.
//
// Each call brings its limit with the rule. A count that was used under another limit of the same
// algorithm keeps its consumption: what was used when it was written last, less what has passed
// since. A window, a sub-window and an event in a log pass as under the limit that they were written
// under, and an event in a log also as under the new one; a bucket refills at the new rate.
//
// So that this is the same in all stores, a count is written only when something is consumed or
// given back, or when it moves into other windows: because their length was changed, or the clock
// was set back. cost must be at least 1.
type Count interface {
	// Take consumes cost events at now when the limit allows them.
	Take(r *Rule, now Instant, cost int64) Decision

	// Peek returns what Take would, and consumes nothing.
	Peek(r *Rule, now Instant, cost int64) Decision

	// Follow moves the count into the windows of r, or of a clock that was set back. Take does so by
	// itself, even if it denies. Peek does not.
	Follow(r *Rule, now Instant)

	// Refund gives back cost events of a take. seen is what was consumed right after it: see
	// [Decision.Seen]. Events go into the (sub-)window that they were taken in, or nowhere when
	// that has passed. A bucket gets back what it would still lack if nothing else had been taken
	// since. That is exact when nothing was; else it may be too little, by at most what has accrued
	// since.
	//
	// No more can be taken afterwards than if the take had never been. For a bucket, this holds
	// when takes are refunded one after another. When several are to be refunded at a time, each
	// was seen with the others: in any span, no more is taken than the limit, what accrues in the
	// span, and what was still to be refunded when it began.
	Refund(r *Rule, now Instant, seen Events, cost int64)

	// Charge consumes cost events at now, whatever the limit allows. Nothing else can be taken until
	// the count has got back what exceeds the limit.
	Charge(r *Rule, now Instant, cost int64)

	// Inspect returns the state of the count at now. It changes nothing, so r may have another limit
	// than the takes.
	Inspect(r *Rule, now Instant) CountState

	// AddQuota gives back up to events of what was consumed: see [Operator].
	AddQuota(r *Rule, now Instant, events int64)
}

// NewCount returns a count without consumption for the algorithm a, and for no other.
func NewCount(a Algorithm) Count {
	if n := a.StateSize(); n > 0 {
		return make(State, n)
	}
	return new(slidingLog)
}
