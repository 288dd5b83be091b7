package limiter

import "math"

// An Account is what a node knows of one key under one rule, and what it may spend of it without asking: a pure calculator
// without pointers, so that millions of them cost the garbage collector nothing. The zero account knows nothing. It is not safe
// for concurrent use.
//
// Its clock is the node's, which must not be set: only differences of its instants count. Instants of the store are kept as the
// store said them, to be told to it again.
//
// A take is decided from the account where that can be done ([Account.Take]). Else the store is asked ([Account.Ask],
// [Account.Answer]), by one loan at a time.
type Account struct {
	// Two lots of leased events, the older first, so that a new one can come while the old one is spent.
	left [2]int64
	at   [2]Instant // by the store's clock, when they were lent: their name when they go back
	ends [2]moment  // from when on they must not be spent

	// What the store said last.
	used   int64   // events of the limit
	seenAt Instant // by the store's clock; 0: it has said nothing
	run    uint64  // its run

	// The remembered denial.
	retryAt    Instant // what clients are told
	denied     moment  // until when it is remembered
	deniedCost uint32  // takes of at least this cost are denied; 0: there is no denial

	// What clients were told to remain.
	shown   int64
	shownAt moment

	askedAt moment // when the store was asked last
	heardAt moment // when it was asked for what it said last
	limit   uint32 // names the limit that all this is about

	// Demand: the events that takes asked for since askedAt, and before that, each weighed by its age.
	taken  uint32
	demand float32

	// Credit: in the window that began at creditAt, the events that were admitted before the store had answered, those of them that
	// it has debited, and those that may still be admitted so. See owing.
	owed, paid uint32
	creditAt   moment // 0: there was none yet
	credit     uint16

	asking bool // a loan is under way
}

// Take decides a take of cost events at now from what is known here and answers it in d, or reports that the store has to be
// asked. nodes is how many nodes share the credit; 0 for none.
func (a *Account) Take(r *Rule, now Instant, cost int64, nodes int, d *Decision) (decided bool) {
	m := momentOf(now)
	if !a.Under(r) {
		a.adopt(r, m)
	}
	if a.Denies(now, cost) {
		a.answer(d, r, now, FromMemory, 0)
		d.RetryAt = a.retryAt
		return true
	}
	switch {
	case a.spend(m, cost):
		a.answer(d, r, now, FromLease, cost)
	case nodes > 0 && a.borrow(r, m, cost, nodes):
		a.answer(d, r, now, FromCredit, cost)
	default:
		return false
	}
	a.taken += uint32(min(cost, int64(math.MaxUint32-a.taken)))
	return true
}

// Denies reports whether a denial is remembered that a take of cost events at now would meet as well, as they are not leased.
func (a *Account) Denies(now Instant, cost int64) bool {
	m := momentOf(now)
	return a.deniedCost > 0 && cost >= int64(a.deniedCost) && a.denied.after(m) && a.lot(0, m)+a.lot(1, m) < cost
}

// spend spends cost events of the lots, the older first, or none when they do not hold as many.
func (a *Account) spend(m moment, cost int64) bool {
	older, newer := a.lot(0, m), a.lot(1, m)
	if older+newer < cost {
		return false
	}
	n := min(older, cost)
	a.left[0] -= n
	a.left[1] -= cost - n
	return true
}

// lot returns what may be spent of a lot.
func (a *Account) lot(i int, m moment) int64 {
	if a.left[i] > 0 && a.ends[i].after(m) {
		return a.left[i]
	}
	return 0
}

// borrow admits cost events before the store has answered: once in a window, where nothing is leased and nothing was denied. As long
// as something is owed of a window, there is no credit in another.
func (a *Account) borrow(r *Rule, m moment, cost int64, nodes int) bool {
	if a.deniedCost > 0 || a.lot(0, m)+a.lot(1, m) > 0 {
		return false
	}
	if a.owed == a.paid && (a.creditAt == 0 || uint64(m-a.creditAt)*1000 >= uint64(min(r.window, furthest))) {
		a.creditAt, a.credit = m, uint16(r.Credit(nodes))
		a.owed, a.paid = 0, 0
	}
	if int64(a.credit) < cost {
		return false
	}
	a.credit -= uint16(cost)
	a.owed += uint32(cost)
	return true
}

// maxCredit bounds what an account may owe: with the milliseconds since 1970 before it, in a number that a script can count with.
const maxCredit = 1<<12 - 1

// owing returns the number of an event of credit, n of which were admitted in the window: larger than those of all windows before.
// As it has the time in it, an account that was forgotten and is made again uses no number a second time.
func (a *Account) owing(now Instant, n uint32) int64 {
	at := int64(now)/1000 - int64(momentOf(now)-a.creditAt)
	return at*(maxCredit+1) + int64(n)
}

// Undo gives back what a take of cost events has spent of a lease, when it was not to be. seenAt is what [Account.Version] was
// then: if the store has been asked since, the lot may be gone, and the events are lost.
func (a *Account) Undo(cost int64, version Instant) {
	if a.seenAt == version && a.at[0] != 0 {
		a.left[0] += cost // the lot that ends first
		a.shown += cost
	}
}

// Version changes whenever the store has answered.
func (a *Account) Version() Instant { return a.seenAt }

// Under reports whether what the account knows is about the limit of r: that it was last taken or asked for under such a rule.
func (a *Account) Under(r *Rule) bool { return a.limit == r.limitID }

// adopt makes the account one of the limit of r. What is leased of another limit goes back, and what it denied is forgotten.
func (a *Account) adopt(r *Rule, m moment) {
	if a.limit != 0 {
		a.ends[0], a.ends[1] = m, m
		a.deniedCost = 0
		a.shown = max(0, r.capacity-a.used)
	}
	a.limit = r.limitID
}
