package concurrency

import (
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

const (
	// Lifetime is how long a lease lasts. A crashed node's permits are free after that.
	Lifetime = 14 * time.Second

	// A node does not use a lease for the last of drift parts of its Lifetime, because the clocks
	// of the node and of the lender may each be wrong by 200 ppm.
	drift = 2500

	// beat is the time between two beats, in which a limiter attends to all accounts.
	beat = time.Second

	// renewEvery is the time after which a lease is renewed, in µs.
	renewEvery = 4_000_000

	// repeatDenial is how long a node repeats a denial by itself, in µs. A flood of requests for a key
	// at its limit costs the lender no more than one request in that time.
	repeatDenial = 10_000

	// leastRetry is the least time that a client is told to wait, in µs.
	leastRetry = 1_000_000

	// breachEvery is the time after which a denial is worth a log line again, in µs.
	breachEvery = 60_000_000
)

// An account is what a node knows and holds of a key: a pure calculator. Instants are by the node's
// clock.
type account struct {
	key      string
	rule     *Rule    // the rule of the last request of the key
	inFlight int64    // number of requests in flight
	peaks    [2]int64 // the most requests in flight since the last beat, and in the time between two beats before it
	durations

	permits int64           // number of leased permits
	until   limiter.Instant // the end of the lease
	free    int64           // number of permits that were free when the lender answered last
	asked   limiter.Instant // when the last request to the lender was sent
	calling bool            // the lender has not answered that request yet
	waiters []*waiter       // requests that wait for the lender, the oldest first
	queue   *queue          // requests that wait for their turn; nil if none has waited yet
	asking  bool            // the lender is asked every askEvery for the requests in queue

	deniedUntil limiter.Instant // until then the node repeats a denial
	breachUntil limiter.Instant // before this, no denial is worth a log line
}

// usable returns how many requests may be in flight at now. In memory, where nothing is leased,
// that is the limit.
func (a *account) usable(now limiter.Instant, leases bool) int64 {
	switch {
	case !leases:
		return a.rule.Limit
	case now >= a.until:
		return 0
	}
	return min(a.permits, a.rule.Limit)
}

// begin counts a request that is admitted.
func (a *account) begin() {
	a.inFlight++
	a.peaks[0] = max(a.peaks[0], a.inFlight)
}

// end counts the end of a request that took us µs. Its permit is free for the next request, so the
// node does not repeat an earlier denial.
func (a *account) end(us int64) {
	a.inFlight--
	a.durations.add(us)
	a.deniedUntil = 0
}

// reserve returns how many permits must be free before a node leases more than it needs, if the
// given number of nodes share them.
func (a *account) reserve(nodes int) int64 { return max(a.rule.Limit/4, 4*int64(nodes)) }

// isScarce reports whether permits that the node does not need should be returned at once.
func (a *account) isScarce(nodes int) bool { return a.rule.Strict || a.free < a.reserve(nodes) }

// spare returns how many permits to keep besides those in use: as many as were in use since the
// beat before last, and a few more.
func (a *account) spare(nodes int) int64 {
	recent := max(a.peaks[0], a.peaks[1])
	if recent == 0 || a.isScarce(nodes) {
		return 0
	}
	return max(0, recent+recent/8+1-a.inFlight)
}

// idle returns how many leased permits are not in use.
func (a *account) idle(now limiter.Instant) int64 { return max(0, a.usable(now, true)-a.inFlight) }

// request returns the next request to the lender. It keeps up to spare idle permits and returns the
// others, which the account does not use from now on.
func (a *account) request(now limiter.Instant, spare int64, nodes int) *LeaseRequest {
	a.permits = min(a.usable(now, true), a.inFlight+spare)
	a.calling, a.asked = true, now
	for _, w := range a.waiters {
		w.asked = true
	}
	r := &LeaseRequest{
		Rule: a.rule.ID, Key: a.key, Limit: a.rule.Limit,
		Hold: max(a.permits, a.inFlight), Need: int64(len(a.waiters) + a.queued()),
		Reserve: a.reserve(nodes), Share: 2 * int64(max(1, nodes)), Lifetime: Lifetime,
	}
	if r.Need > 0 && !a.rule.Strict {
		r.Want = max(4, max(a.peaks[0], a.peaks[1])/2)
	}
	return r
}

// granted adopts the lender's answer to the last request.
func (a *account) granted(g Grant) {
	a.permits, a.free = g.Permits, g.Free
	a.until = a.asked + limiter.Instant((Lifetime - Lifetime/drift).Microseconds())
}

// next returns the request to the lender that is to be sent at once: for the waiters, or to return
// idle permits that other nodes may need. It returns nil if none is to be sent.
func (a *account) next(now limiter.Instant, nodes int) *LeaseRequest {
	if a.calling || len(a.waiters) == 0 && (a.idle(now) == 0 || !a.isScarce(nodes)) {
		return nil
	}
	return a.request(now, a.spare(nodes), nodes)
}

// beat attends to the account. ask reports whether a request is to be sent to the lender, and spare
// is how many idle permits that request keeps.
func (a *account) beat(now limiter.Instant, nodes int) (spare int64, ask bool) {
	if spare = a.spare(nodes); !a.calling {
		due := now-a.asked >= renewEvery && (a.inFlight > 0 || a.usable(now, true) > 0)
		ask = due || a.idle(now) > spare
	}
	a.peaks = [2]int64{a.inFlight, a.peaks[0]}
	return spare, ask
}

// isUnused reports whether the account can be removed. Only how many requests there were lately,
// and how long they took, would be lost.
func (a *account) isUnused(now limiter.Instant) bool {
	return a.inFlight == 0 && a.usable(now, true) == 0 && !a.calling && len(a.waiters) == 0 && a.queued() == 0 &&
		!a.asking
}

// decide writes the decision about a request. source says by what it was decided. Remaining is what
// is left after the decision as far as the node knows.
func (a *account) decide(d *limiter.Decision, now limiter.Instant, ok, leases bool, source limiter.Source) {
	remaining := a.rule.Limit - a.inFlight
	if leases {
		remaining = min(remaining, a.idle(now)+a.free)
	}
	*d = limiter.Decision{
		OK: ok, Source: source, At: now, Limit: a.rule.Limit, Remaining: max(0, remaining), RetryAt: now, ResetAt: now,
	}
	if ok {
		return
	}
	d.Remaining = 0
	d.RetryAt += limiter.Instant(max(leastRetry, a.median()))
	d.ResetAt = d.RetryAt
	if d.Breach = now >= a.breachUntil; d.Breach {
		a.breachUntil = now + breachEvery
	}
}
