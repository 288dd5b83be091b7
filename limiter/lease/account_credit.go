package lease

import "github.com/fleetlimit/fleetlimit/limiter"

// spendCredit admits cost events before the store has replied. An account has credit once per
// window, while it holds no lease and no denial, and not while it owes events of another window.
func (a account) spendCredit(r *limiter.Rule, now instant, cost int64, nodes int) bool {
	if a.denied || a.leased(now) > 0 {
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

// hadCredit reports whether the window of the newest credit has not passed.
func (c *cold) hadCredit(r *limiter.Rule, now instant) bool {
	return c.creditTotal != 0 && now.since(c.creditAt()) < r.Limit.Window.Microseconds()
}

// creditAt returns when the window of credit began, in whole ms.
//
// Events of credit are numbered. The n-th event of a window has the number
// (ms at which the window began) * (limiter.MaxCredit + 1) + n. So the numbers of a window are
// above those of all windows before, and an account that was removed and made again uses no number
// twice.
func (c *cold) creditAt() instant {
	return instant(c.creditTotal / (limiter.MaxCredit + 1) * 1000)
}

// paid returns the number of the last event of credit that the store is known to have debited.
func (c *cold) paid() int64 { return c.creditTotal - int64(c.unpaid) }

// settle notes that the store has debited events more of the debt, if they are more than none.
func (a account) settle(events int64) {
	a.unpaid -= uint16(max(0, min(events, a.debt())))
	a.inDebt = a.unpaid > 0 || a.owed > 0
}

// debt returns how many admitted events the store has not debited yet, as far as the node knows.
func (a account) debt() int64 {
	if !a.inDebt { // nearly always; else the cold half is needed
		return 0
	}
	return int64(a.unpaid)
}
