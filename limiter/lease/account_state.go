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
	if a.inDebt || a.hadCredit(r, now) {
		st.Credit = int64(a.credit)
	}
	for i, events := range a.remaining {
		if events > 0 {
			st.Leases = append(st.Leases, limiter.LeaseState{
				Events: int64(events), Lasts: time.Duration(a.usableFor(i, now)) * time.Microsecond,
			})
		}
	}
	if a.appliesTo(r) && a.denies(now, math.MaxInt64) {
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
