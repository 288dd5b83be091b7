package limiter

// A Count is what one key has consumed under one algorithm: a pure calculator without clock, lock
// or I/O. It is not safe for concurrent use; a store has one per key and guards it. A new count has
// consumed nothing.
//
// Each call brings its limit with the rule. A count that was used under another limit of the same
// algorithm keeps its consumption: what was used when the count was written last, less what has
// passed since. A window or a sub-window passes when it would have passed under the limit that it
// was written under. An event in a log passes when it leaves the window of the new limit, or if it
// had left that of an earlier limit when the log was written. A bucket refills at the new rate.
//
// For that to be the same in all stores, a count is written only when something is consumed or
// given back, or when the count moves into other windows, because their length was changed or the
// clock was set back. cost must be at least 1 in all methods.
type Count interface {
	// Take consumes cost events at now when the limit allows them.
	Take(r *Rule, now Instant, cost int64) Decision

	// Peek returns what Take would, and consumes nothing.
	Peek(r *Rule, now Instant, cost int64) Decision

	// Follow moves the count into the windows of r if their length was changed, or into those of a
	// clock that was set back. Take does so by itself, even if it denies. Peek does not.
	Follow(r *Rule, now Instant)

	// Refund gives back cost events of a take. seen is what was consumed right after the take: see
	// [Decision.Seen]. Events go back into the window or sub-window that they were taken in. They are
	// lost if it has passed. A bucket gets back what it would still lack of these events if nothing
	// else had been taken since. That is exact if nothing else was taken. Otherwise it may be too
	// little, by at most what has accrued since.
	//
	// After a refund, no more can be taken than if the take had never been. For a bucket, this
	// holds if each take is refunded before the next take that will be refunded. If several takes
	// are still to be refunded at a time, the seen of each includes the others. Then in any span,
	// no more is taken than the limit, what accrues in the span, and what was still to be refunded
	// when the span began.
	Refund(r *Rule, now Instant, seen Events, cost int64)

	// Charge consumes cost events at now, whatever the limit allows. Nothing else can be taken until
	// the count has got back what exceeds the limit.
	Charge(r *Rule, now Instant, cost int64)

	// Inspect returns the state of the count at now. It changes nothing, so r may have another limit
	// than the takes.
	Inspect(r *Rule, now Instant) CountState

	// AddQuota gives back at most the given number of consumed events: see [Operator].
	AddQuota(r *Rule, now Instant, events int64)
}

// NewCount returns a count without consumption for the algorithm a, and for no other.
func NewCount(a Algorithm) Count {
	if n := a.StateSize(); n > 0 {
		return make(State, n)
	}
	return new(slidingLog)
}
