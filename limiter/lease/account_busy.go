package lease

import (
	"math"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// A key is busy if many takes come for it within its horizon. For a busy key, a node asks the store
// for all events that takes spend within the horizon. So one request serves many takes even near
// the limit. Once the store has no events left, the node denies takes by itself, and asks in the
// background for events that have come back. Otherwise each event that comes back would cost a
// request, because a busy key spends it at once.
const (
	// The horizon is the time in which horizonTakes takes come. It is at least shortestHorizon and
	// at most longestHorizon, in µs. But it is never longer than the window divided by
	// horizonParts, because other nodes miss the events that a node holds.
	horizonTakes                    = 128
	shortestHorizon, longestHorizon = 20_000, 100_000
	horizonParts                    = 600

	// A key is busy if at least busyTakes takes come within the horizon.
	busyTakes = 8

	// A denial is remembered for at least denialHorizons horizons if the denial before it ended
	// less than one horizon ago. So a key that was denied by chance is not denied for long.
	denialHorizons = 3
)

// horizon returns the horizon in µs, and the number of events that takes of this cost will probably
// spend within it. Both are 0 if the key is not busy, or if r has no leases.
func (a account) horizon(r *limiter.Rule, now instant, cost int64) (us, events int64) {
	rate := float64(a.recent) * math.Exp(-float64(a.sinceRequest(now))/recentHorizon) / recentHorizon
	span := max(shortestHorizon, min(longestHorizon, float64(horizonTakes*cost)/rate))
	span = min(span, float64(r.Limit.Window.Microseconds()/horizonParts))
	if events = int64(rate * span); events < busyTakes*cost || !r.Leases() {
		return 0, 0
	}
	return int64(span), events
}

// wantBusy has l want the events that takes spend within the horizon, if the store would grant
// fewer otherwise. It changes nothing for a log, whose leased events count for longer than others.
// Nor does it for an ample bucket, of which the request wants more.
func (a account) wantBusy(r *limiter.Rule, now instant, l *limiter.LeaseRequest) {
	if r.Algorithm.Kind == limiter.SlidingWindowLog || a.ample {
		return
	}
	_, events := a.horizon(r, now, max(1, l.Need))
	left := max(0, r.Capacity()-a.used)
	if events -= a.leased(r, now); events > min(l.Want, left/l.Divisor()) {
		l.Want, l.Busy = events, true
	}
}

// noteRepeated adds a take of cost events, which the remembered denial denies, to the recent
// demand. The next request will multiply the recent demand by e^-x, where x is the time since the
// newest request divided by recentHorizon. So noteRepeated multiplies the cost by e^x, up to the
// third power of x.
func (a account) noteRepeated(now instant, cost int64) {
	x := float32(a.sinceRequest(now)) / recentHorizon // about 1 at most: a denial lasts 2 s at most
	a.recent += float32(cost) * (1 + x*(1+x/2*(1+x/3)))
}

// denialLasts returns for how many µs at least the account is to remember a denial. until is the
// instant until which it remembered the previous denial.
func (a account) denialLasts(r *limiter.Rule, now, until instant, cost int64) int64 {
	if us, _ := a.horizon(r, now, cost); now < until.plus(us) {
		return denialHorizons * us
	}
	return 0
}

// exhausted reports whether a denial is remembered and the store had no events left by its newest
// reply. The account then asks for nothing until shouldRenewDenial is true.
func (a account) exhausted(r *limiter.Rule, now instant) bool {
	return a.denied && now < a.rememberUntil && a.used >= r.Capacity()
}

// shouldRenewDenial reports whether a request should be sent in the background, because the key is
// busy and the remembered denial ends soon.
func (a account) shouldRenewDenial(r *limiter.Rule, now instant) bool {
	if now < a.rememberUntil.plus(-longestHorizon) {
		return false
	}
	us, _ := a.horizon(r, now, int64(a.deniedCost))
	return now >= a.rememberUntil.plus(-us)
}
