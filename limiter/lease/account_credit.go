package lease

import "github.com/fleetlimit/fleetlimit/limiter"

// spendCredit admits cost events before the store has answered: once in a window, where nothing is leased and nothing was denied. As long
// as something is owed of a window, there is no credit in another.
func (a account) spendCredit(r *limiter.Rule, now limiter.Instant, cost int64, nodes int) bool {
	if a.denies || a.leased(now) > 0 {
		return false
	}
	if !a.inDebt && !a.hadCredit(r, now) {
		a.creditTotal, a.credit = int64(now)/1000*(limiter.MaxCredit+1), uint16(r.Credit(nodes))
	}
	if int64(a.credit) < cost {
		return false
	}
	a.credit -= uint16(cost)
	a.unpaid += uint16(cost)
	a.creditTotal += cost
	a.inDebt = true
	return true
}

// hadCredit reports whether the window in which there was credit last has not passed at now.
func (d *cold) hadCredit(r *limiter.Rule, now limiter.Instant) bool {
	return d.creditTotal != 0 && int64(now-d.creditAt()) < r.Limit.Window.Microseconds()
}

// creditAt returns when the window of credit began, cut off to whole ms.
//
// Events of credit are numbered: the n-th one of a window has the number of the ms at which that began, times MaxCredit+1, plus n.
// So it is larger than those of all windows before, and an account that was forgotten and is made again uses no number a second
// time.
func (d *cold) creditAt() limiter.Instant {
	return limiter.Instant(d.creditTotal / (limiter.MaxCredit + 1) * 1000)
}

// paid returns the number of the last event of credit that the store has debited, as far as is known here.
func (d *cold) paid() int64 { return d.creditTotal - int64(d.unpaid) }

// settle notes that the store has debited so many more of the events that were admitted; none when that is less than one.
func (a account) settle(events int64) {
	a.unpaid -= uint16(max(0, min(events, a.debt())))
	a.inDebt = a.unpaid > 0
}

// debt returns how many events were admitted that the store has not debited yet, as far as is known here.
func (a account) debt() int64 {
	if !a.inDebt { // nearly always; else the other part is needed
		return 0
	}
	return int64(a.unpaid)
}
