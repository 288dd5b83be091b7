package lease

import (
	"math"

	"github.com/fleetlimit/fleetlimit/limiter"
)

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
	if a.basis == reported || what == allButDebt {
		a.shown = r.Capacity() // what remains by the store may be more than what clients were told
	}
	if what == allButDebt {
		if r.Algorithm.Kind != limiter.TokenBucket { // whose parts count against what the bucket has after the reset
			a.retire() // the leases go back, and the store ignores what it has granted before the reset
		}
		a.used, a.seenAt, a.basis = 0, 0, reported
		a.breachAt, a.localFull = 0, 0
	}
}

// dropDebt drops the debt of a, which belongs to a count that was reset. It returns how many events
// it was.
func (a account) dropDebt() (owed int64) { return a.paidOwed(math.MaxInt64) }
