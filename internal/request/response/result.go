package response

import (
	"net/http"
	"time"

	"github.com/fleetlimit/fleetlimit/internal/key/keytemplate"
	"github.com/fleetlimit/fleetlimit/internal/observe/usage"
	"github.com/fleetlimit/fleetlimit/limiter"
)

// A Result is the decision of one zone about a request, for its rate or for requests at once.
type Result struct {
	*ZoneResponses
	Counters *usage.Counters // the counters of the endpoint and the tier
	Policy   *Policy
	Template *keytemplate.Template // of the key
	Endpoint string                // the endpoint whose limit it is; "" for the limit of the zone
	Cost     int64                 // events of the request; 0 if the rule counts nothing
	Reserves Reservation           // why the request reserves Cost; "" if Cost is what it counts as
	Decision limiter.Decision
	Settings *Settings     // of the handler; nil if no response is about the result
	Waited   time.Duration // how long the request has waited for its turn
	Failure  error         // why the store did not decide, and on_outage did; nil if the store did

	UnknownTier string // the tier that the request names, if the zone has no such tier
}

// Decide copies the decision of a take, and moves its instants from the clock of the store to the wall clock,
// which reads now. If the store could not decide the take, on_outage has decided it. If not even on_outage
// has, because another zone rejects the request, the result admits the request.
func (r *Result) Decide(take *limiter.Take, now limiter.Instant) {
	r.Decision = take.Decision
	if r.Failure = take.Err; r.Failure != nil {
		if !r.Decision.Source.WithoutStore() {
			r.Decision = limiter.Decision{OK: true, Source: limiter.FromOutage, At: now, Limit: r.Policy.Capacity()}
		}
		r.Decision.Remaining = -1
	}
	r.Decision.Rebase(now)
}

// DecideConcurrent copies the decision of a limit of requests at once. err is why the store has not answered,
// nil if it has. now is by the wall clock, as in Decide.
func (r *Result) DecideConcurrent(d limiter.Decision, err error, now limiter.Instant) {
	r.Decision = d
	if r.Failure = err; r.Failure != nil {
		r.Decision.Remaining = -1
	}
	r.Decision.Rebase(now)
}

// IsConcurrent reports whether r is about requests at once. A zone may have a result about its rate, too.
func (r *Result) IsConcurrent() bool { return r.Policy.Concurrent != nil }

// IsQueued reports whether the request is admitted after a wait for its turn, which may still go on.
func (r *Result) IsQueued() bool { return r.Decision.OK && (r.Decision.Turn != 0 || r.Waited > 0) }

// UntilTurn returns how long the request has to wait for its turn from the decision on.
func (r *Result) UntilTurn() time.Duration {
	return time.Duration(max(0, r.Decision.Turn-r.Decision.At)) * time.Microsecond
}

// IsLike reports whether two results are of the same zone, and either both about its rate or both about
// requests at once.
func (r *Result) IsLike(other *Result) bool {
	return r.Usage == other.Usage && r.IsConcurrent() == other.IsConcurrent()
}

// Block makes the decision of a rule that rejects every request.
func (r *Result) Block(now limiter.Instant) {
	until := now + limiter.Instant(r.Policy.Window/time.Microsecond)
	r.Decision = limiter.Decision{At: now, RetryAt: until, ResetAt: until}
}

// wait returns how long, from the decision on, the same request would be rejected.
func (r *Result) wait() limiter.Instant { return r.Decision.RetryAt - r.Decision.At }

// Remaining returns how many events of the limit remain. It returns -1 in an outage. For a denied request, it
// returns less than the cost of the request, even if this node knows of more.
func (r *Result) Remaining() int64 {
	if r.Decision.OK {
		return r.Decision.Remaining
	}
	return min(r.Decision.Remaining, max(r.Cost-1, 0))
}

// remainingFraction returns which fraction of the limit remains, from 0 to 1. It returns less than 0 in an
// outage.
func (r *Result) remainingFraction() float64 {
	if r.Decision.Limit == 0 {
		return 0
	}
	return float64(r.Remaining()) / float64(r.Decision.Limit)
}

// BoundedWait returns the wait, at most the longest window that a limit can have: a take that can
// never succeed would wait for ever.
func (r *Result) BoundedWait() time.Duration {
	return time.Duration(min(r.wait(), limiter.Instant(limiter.MaxWindow/time.Microsecond))) * time.Microsecond
}

// Unavailable reports whether the request is rejected because its count is not available.
func (r *Result) Unavailable() bool {
	return r.Failure != nil && !r.Decision.OK && r.Policy.onOutage() == limiter.OutageClosed
}

// Status returns the status of the response to a request that r rejects.
func (r *Result) Status() int {
	if r.Unavailable() {
		return http.StatusServiceUnavailable
	}
	return http.StatusTooManyRequests
}

// Outweighs reports whether the response describes the rejection r rather than other: a limit that
// is exceeded rather than a count that is not available, or else the one with the longer wait.
func (r *Result) Outweighs(other *Result) bool {
	if r.Unavailable() != other.Unavailable() {
		return other.Unavailable()
	}
	return r.wait() > other.wait()
}

// Decides reports whether r rather than other describes what their zone decides: the rejection that
// outweighs others, or else the least that remains.
func (r *Result) Decides(other *Result) bool {
	switch {
	case r.Decision.OK != other.Decision.OK:
		return other.Decision.OK
	case r.Decision.OK:
		return r.remainingFraction() < other.remainingFraction()
	}
	return r.Outweighs(other)
}
