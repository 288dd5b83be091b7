package lease

import "github.com/fleetlimit/fleetlimit/limiter"

// dropped says what of an account was dropped because an operator has changed the count.
type dropped uint8

const (
	nothing    dropped = iota
	denialOnly         // events were given back, or may have been
	allButDebt         // the count was reset. Debt is dropped by itself, see dropDebt
)

// drop drops a part of a, so that the next take asks the store.
func (a account) drop(r *limiter.Rule, what dropped) {
	if what == nothing {
		return
	}
	a.clearDenial()
	if !a.assumed || what == allButDebt {
		a.shown = r.Capacity() // what remains by the store may be more than what clients were told
	}
	if what == allButDebt {
		a.retire() // the leases go back, and the store ignores what it has granted before the reset
		a.used, a.seenAt, a.assumed = 0, 0, false
		a.credit, a.breachAt = 0, 0
	}
}

// dropDebt drops the debt of a, which belongs to a count that was reset, and returns how many events
// it was.
func (a account) dropDebt() (events int64) {
	events = a.debt()
	a.unpaid, a.inDebt = 0, false
	return events
}
