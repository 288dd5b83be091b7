package lease

import (
	"math"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// state returns what a knows and holds at now, and changes nothing.
func (a account) state(r *limiter.Rule, now instant) *limiter.AccountState {
	_, owed := a.outstanding()
	st := &limiter.AccountState{Debt: owed, Demand: a.demandPerSecond(r, now), Requesting: a.requesting}
	for i := range a.remaining {
		events := int64(a.remaining[i])
		if i == 1 && a.share > 0 {
			events += a.accrued(r, now)
		}
		if events > 0 {
			st.Leases = append(st.Leases, limiter.LeaseState{
				Events: events, Lasts: time.Duration(a.usableFor(i, now)) * time.Microsecond,
			})
		}
	}
	if a.appliesTo(r) && a.denies(r, now, math.MaxInt64) {
		st.DeniedFor = time.Duration(a.rememberUntil.since(now)) * time.Microsecond
		st.DeniedCost = int64(a.deniedCost)
	}
	return st
}

// demandPerSecond returns how many events takes will probably spend per second.
func (a account) demandPerSecond(r *limiter.Rule, now instant) float64 {
	horizon := float64(demandHorizon * r.LeaseTime())
	demand := float64(a.demand)*math.Exp(-float64(a.sinceRequest(now))/horizon) + float64(a.taken)
	return demand / horizon * 1e6
}
