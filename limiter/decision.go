package limiter

// A Decision is the answer to a take. A denial is a decision, not an error.
type Decision struct {
	// OK means that the events were taken or, in a take of several rules, that this rule alone
	// would have allowed them.
	OK bool

	// Breach marks the first denial of a key in a window, which is worth a log line. Stores set it,
	// even if the request passes nevertheless, as in a dry run.
	Breach bool

	// Source says what has decided the take.
	Source Source

	// At is the instant of the decision by the clock of the store that decided: the newest reading
	// that the count has seen. Compare the other instants with it, not with another clock.
	At Instant

	// Limit is the most that could ever be taken at once: the burst of a token bucket, the events
	// of a window.
	Limit int64

	// Remaining is what may still be taken at the instant of the decision. 0 <= Remaining <= Limit.
	Remaining int64

	// RetryAt is the earliest instant at which the same take can succeed if nothing else is taken. It
	// is At if the take would succeed now, and Never if its cost is above the limit. A take that may
	// wait succeeds as soon as it is promised an instant. While leases of the key are out, RetryAt is
	// no later than the last expiry of a lease, because events may be returned until then.
	RetryAt Instant

	// Turn is the instant at which the events are there, if the take waits for them: see Take.Wait. 0
	// means that they are there at once.
	Turn Instant

	// ResetAt is the instant at which the key is back to its full limit if nothing else is taken.
	ResetAt Instant
}

// answer writes the part of a decision that is alike for all algorithms. The take of cost events is
// decided at the instant at, and used events are in use after it. answer reports whether the
// algorithm must set RetryAt, because the take is denied now but not for ever. It sets ResetAt to
// at, which the algorithm changes if events are in use.
func (d *Decision) answer(r *Rule, at Instant, used int64, ok bool, cost int64) (denied bool) {
	*d = Decision{
		OK: ok, At: at, Limit: r.capacity, Remaining: max(0, r.capacity-used), RetryAt: at, ResetAt: at,
	}
	if !ok && cost > r.capacity {
		d.RetryAt = Never
		return false
	}
	return !ok
}

// capRetry limits the RetryAt of a denial to leased, the last expiry of a lease. If leased has
// passed, no lease is out and RetryAt stays.
func (d *Decision) capRetry(leased Instant) {
	if !d.OK && d.RetryAt != Never && leased > d.At {
		d.RetryAt = min(d.RetryAt, leased)
	}
}

// Seen returns what the key had consumed right after the decision. A refund of the take needs it.
func (d *Decision) Seen() Events { return Events{At: d.At, N: max(0, d.Limit-d.Remaining)} }

// Rebase converts a decision by another clock to the clock that reads now. The time from At to each
// other instant stays.
func (d *Decision) Rebase(now Instant) {
	shift := now - d.At
	d.At = now
	d.ResetAt += shift
	if d.Turn != 0 {
		d.Turn += shift
	}
	if d.RetryAt != Never {
		d.RetryAt += shift
	}
}
