package limiter

// A Decision is the answer to a take. A denial is a decision, not an error.
type Decision struct {
	// OK says that the events were taken; in a take of several rules, that this rule alone would have allowed them.
	OK bool

	// Breach marks the first denial of a key in a window: the one worth a log line. Set by stores.
	Breach bool

	// Source says by what the take was decided.
	Source Source

	// At is the instant of the decision by the clock of the store: the newest reading that the count has seen. Instants
	// of a decision are to be compared with it, not with a clock of the caller's.
	At Instant

	// Limit is the most that could ever be taken at once: the burst of a token bucket, the events of a window.
	Limit int64

	// Remaining is what may still be taken at the instant of the decision. 0 <= Remaining <= Limit.
	Remaining int64

	// RetryAt is the earliest instant at which the same take can succeed if nothing else is taken: At when it would
	// succeed now, Never when its cost is above the limit. While leases of the key are out, it is the instant to ask again:
	// no later than the end of the last lease, as events may be returned until then.
	RetryAt Instant

	// ResetAt is the instant at which the key is back to its full limit if nothing else is taken.
	ResetAt Instant
}

// answer writes what all algorithms say alike to a take of cost events at the instant at, after which used events of the
// limit are used. It reports whether RetryAt is still to be found: the take is denied, and will be allowed some day. ResetAt is
// at until the algorithm knows a later instant. The fields are set one by one, as a literal would be made elsewhere and copied.
func (d *Decision) answer(r *Rule, at Instant, used int64, ok bool, cost int64) (denied bool) {
	d.OK, d.Breach, d.Source = ok, false, FromStore
	d.Limit, d.Remaining = r.capacity, max(0, r.capacity-used)
	d.At, d.RetryAt, d.ResetAt = at, at, at
	if !ok && cost > r.capacity {
		d.RetryAt = Never
		return false
	}
	return !ok
}

// capRetry makes a denial say to ask again when the last lease ends, at leased, if that is earlier. Events of leases may be
// returned until then. There is no lease when leased has passed.
func (d *Decision) capRetry(leased Instant) {
	if !d.OK && d.RetryAt != Never && leased > d.At {
		d.RetryAt = min(d.RetryAt, leased)
	}
}

// Seen returns what the key had consumed right after the decision: what a refund of the take goes by.
func (d *Decision) Seen() Events { return Events{At: d.At, N: max(0, d.Limit-d.Remaining)} }

// Rebase makes d, which was decided by another clock, one by the clock that reads at now.
func (d *Decision) Rebase(now Instant) {
	shift := now - d.At
	d.At = now
	d.ResetAt += shift
	if d.RetryAt != Never {
		d.RetryAt += shift
	}
}
