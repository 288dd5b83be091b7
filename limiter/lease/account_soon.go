package lease

import (
	"math"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// A node asks the store for what the takes of a busy key spend soon. So near the limit too, a request
// serves many of them. Once the store has nothing left, the node denies takes by itself, and asks in
// the background for what has come back.
const (
	// Soon is the time in which soonTakes takes come, between these bounds in µs, and at most one
	// in soonParts of the window: what a node holds is missed elsewhere.
	soonTakes                 = 128
	shortestSoon, longestSoon = 20_000, 100_000
	soonParts                 = 600

	// A key is busy if at least busyTakes of its takes come soon.
	busyTakes = 8

	// A denial is remembered for denialSoons times as long as soon is, if the denial before it has
	// only just ended: so a key that was denied by chance is not denied for long.
	denialSoons = 3
)

// soon returns how long soon is, in µs, and how many events takes of this cost probably spend in
// it. Both are 0 if the key is not busy.
func (a account) soon(r *limiter.Rule, now instant, cost int64) (us, events int64) {
	rate := float64(a.recent) * math.Exp(-float64(a.sinceRequest(now))/recentHorizon) / recentHorizon
	span := max(shortestSoon, min(longestSoon, float64(soonTakes*cost)/rate))
	span = min(span, float64(r.Limit.Window.Microseconds()/soonParts))
	if events = int64(rate * span); events < busyTakes*cost || !r.Leases() {
		return 0, 0
	}
	return int64(span), events
}

// wantSoon has l want what takes spend soon, if the usual part of what is left is less. A log
// leases nothing near its limit, as leased events count for longer.
func (a account) wantSoon(r *limiter.Rule, now instant, l *limiter.LeaseRequest) {
	if r.Algorithm.Kind == limiter.SlidingWindowLog {
		return
	}
	_, events := a.soon(r, now, max(1, l.Need))
	left := max(0, r.Capacity()-a.used)
	if events -= a.leased(r, now); events > min(l.Want, left/l.Divisor()) {
		l.Want, l.Soon = events, true
	}
}

// noteRepeated adds a take of cost events that the remembered denial denies to the recent demand. The
// next request weighs all of that by the age of the newest request: so newer takes count e^x times as
// much before, here to the third power of x.
func (a account) noteRepeated(now instant, cost int64) {
	x := float32(a.sinceRequest(now)) / recentHorizon // 1 at most, as long as a denial is remembered
	a.recent += float32(cost) * (1 + x*(1+x/2*(1+x/3)))
}

// denialLasts returns for how many µs at least the account is to remember a denial, when it has
// remembered the one before until the instant until.
func (a account) denialLasts(r *limiter.Rule, now, until instant, cost int64) int64 {
	if us, _ := a.soon(r, now, cost); now < until.plus(us) {
		return denialSoons * us
	}
	return 0
}

// exhausted reports whether a denial is remembered, and the store had nothing left by its newest
// reply. Until shouldRenewDenial, there is nothing to ask for.
func (a account) exhausted(r *limiter.Rule, now instant) bool {
	return a.denied && now < a.rememberUntil && a.used >= r.Capacity()
}

// shouldRenewDenial reports whether a request should be sent in the background, as the key is busy
// and the remembered denial soon ends.
func (a account) shouldRenewDenial(r *limiter.Rule, now instant) bool {
	if now < a.rememberUntil.plus(-longestSoon) {
		return false
	}
	us, _ := a.soon(r, now, int64(a.deniedCost))
	return now >= a.rememberUntil.plus(-us)
}
