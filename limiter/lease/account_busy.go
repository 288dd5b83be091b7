package lease

import (
	"math"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// A key is busy if many takes come for it within its horizon. A node asks the store for all that the takes of
// a busy key spend within the horizon. So near the limit, too, a request serves many of them. Once the store
// has nothing left, the node denies takes by itself, and asks in the background for what has come back.
// Without that, each event that comes back would cost a request, as a busy key spends it at once.
const (
	// The horizon is the time in which horizonTakes takes come, between these bounds in µs, and at most one
	// in horizonParts of the window, because other nodes miss what a node holds.
	horizonTakes                    = 128
	shortestHorizon, longestHorizon = 20_000, 100_000
	horizonParts                    = 600

	// A key is busy if at least busyTakes takes come within the horizon.
	busyTakes = 8

	// A denial is remembered for denialHorizons horizons if the denial before it has only just ended. So a
	// key that was denied by chance is not denied for long.
	denialHorizons = 3
)

// horizon returns the horizon in µs, and how many events takes of this cost probably spend within it. Both
// are 0 if the key is not busy.
func (a account) horizon(r *limiter.Rule, now instant, cost int64) (us, events int64) {
	rate := float64(a.recent) * math.Exp(-float64(a.sinceRequest(now))/recentHorizon) / recentHorizon
	span := max(shortestHorizon, min(longestHorizon, float64(horizonTakes*cost)/rate))
	span = min(span, float64(r.Limit.Window.Microseconds()/horizonParts))
	if events = int64(rate * span); events < busyTakes*cost || !r.Leases() {
		return 0, 0
	}
	return int64(span), events
}

// wantBusy has l want what takes spend within the horizon, if the usual part of what is left is less. A log
// leases nothing near its limit, because its leased events count for longer.
func (a account) wantBusy(r *limiter.Rule, now instant, l *limiter.LeaseRequest) {
	if r.Algorithm.Kind == limiter.SlidingWindowLog {
		return
	}
	_, events := a.horizon(r, now, max(1, l.Need))
	left := max(0, r.Capacity()-a.used)
	if events -= a.leased(r, now); events > min(l.Want, left/l.Divisor()) {
		l.Want, l.Busy = events, true
	}
}

// noteRepeated adds a take of cost events, which the remembered denial denies, to the recent demand. The next
// request will weigh all of the recent demand by e^-x, for x the age of the newest request in horizons of the
// recent demand. So the take is added with the weight e^x, here up to the third power of x.
func (a account) noteRepeated(now instant, cost int64) {
	x := float32(a.sinceRequest(now)) / recentHorizon // 1 at most, as long as a denial is remembered
	a.recent += float32(cost) * (1 + x*(1+x/2*(1+x/3)))
}

// denialLasts returns for how many µs the account is to remember a denial at least. until is the instant
// until which it remembered the denial before.
func (a account) denialLasts(r *limiter.Rule, now, until instant, cost int64) int64 {
	if us, _ := a.horizon(r, now, cost); now < until.plus(us) {
		return denialHorizons * us
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
	if now < a.rememberUntil.plus(-longestHorizon) {
		return false
	}
	us, _ := a.horizon(r, now, int64(a.deniedCost))
	return now >= a.rememberUntil.plus(-us)
}
