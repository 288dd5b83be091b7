package limiter

// A Decision is the answer to a take. A denial is a decision, not an error.
type Decision struct {
	// OK says that the events were taken; in a take of several rules, that this rule alone would have allowed them.
	OK bool

	// Breach marks the first denial of a key in a window: the one worth a log line. Set by stores.
	Breach bool

	// At is the instant of the decision by the clock of the store: the newest reading that the count has seen. Instants
	// of a decision are to be compared with it, not with a clock of the caller's.
	At Instant

	// Limit is the most that could ever be taken at once: the burst of a token bucket, the events of a window.
	Limit int64

	// Remaining is what may still be taken at the instant of the decision. 0 <= Remaining <= Limit.
	Remaining int64

	// RetryAt is the earliest instant at which the same take can succeed: At when it would
	// succeed now, Never when its cost is above the limit.
	RetryAt Instant

	// ResetAt is the instant at which the key is back to its full limit if nothing else is taken.
	ResetAt Instant
}
