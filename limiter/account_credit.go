package limiter

// borrow admits cost events before the store has answered: once in a window, where nothing is leased and nothing was denied. As long
// as something is owed of a window, there is no credit in another.
func (a Account) borrow(r *Rule, m moment, cost int64, nodes int) bool {
	if a.denies || a.leased(m) > 0 {
		return false
	}
	if !a.owes && (a.creditAt == 0 || uint64(m-a.creditAt)*1000 >= uint64(min(r.window, furthest))) {
		a.creditAt, a.credit = m, uint16(r.Credit(nodes))
		a.owed, a.paid = 0, 0
	}
	if int64(a.credit) < cost {
		return false
	}
	a.credit -= uint16(cost)
	a.owed += uint16(cost)
	a.owes = true
	return true
}

// maxCredit bounds what an account may owe: with the milliseconds since 1970 before it, in a number that a script can count with.
const maxCredit = 1<<12 - 1

// owing returns the number of an event of credit, n of which were admitted in the window: larger than those of all windows before.
// As it has the time in it, an account that was forgotten and is made again uses no number a second time.
func (a Account) owing(now Instant, n uint16) int64 {
	at := int64(now)/1000 - int64(momentOf(now)-a.creditAt)
	return at*(maxCredit+1) + int64(n)
}

// settle notes that the store has debited so many more of the events that were admitted; none when that is less than one.
func (a Account) settle(events int64) {
	a.paid += uint16(max(0, min(events, a.debt())))
	a.owes = a.owed != a.paid
}

// debt returns how many events were admitted that the store has not debited yet, as far as is known here.
func (a Account) debt() int64 {
	if !a.owes { // nearly always; else the other part is needed
		return 0
	}
	return int64(a.owed - a.paid)
}
