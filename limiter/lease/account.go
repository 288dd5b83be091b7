package lease

import (
	"math"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// An account is what a node knows of one key under one rule, and what it may spend of it without asking: a pure calculator. Of its
// two parts, takes from a lease need the first alone: keep them apart in memory. Neither has pointers, so that millions of them cost
// the garbage collector nothing. When both are zero, nothing is known. An account is not safe for concurrent use.
//
// Its clock is the node's, which must not be set: only differences of its instants count. Instants of the store are kept as the
// store said them, to be told to it again.
//
// A take is decided from the account where that can be done ([account.Take]). Else the store is asked ([account.Ask],
// [account.Answer]), by one loan at a time.
type account struct {
	*hot
	*cold
}

// A hot is the part of an account that a take needs which is decided from a lease, as most are. What needs no more is a method
// of it, and so does not have takes wait for the memory of the other part.
type hot struct {
	// Two lots of leased events, the older first, so that a new one can come while the old one is spent.
	remaining [2]uint32
	expires   [2]uint16 // ms after heardAt, from when on they must not be spent

	shownAt float32 // µs after heardAt: see shown

	// What the store said last.
	used    int64           // events of the limit
	seenAt  limiter.Instant // by the store's clock; 0: it has said nothing
	heardAt limiter.Instant // when it was asked for that, in whole ms: what the balance has counts its times from here

	shown int64 // what clients were told at shownAt to remain

	limit uint32 // names the limit that all this is about

	// Demand: the events that takes asked for since Dealings.askedAt, and before that, each weighed by its age.
	taken  uint32
	demand float32

	asking  bool // a loan is under way
	guesses bool // shown is what takes have left of a limit that the store has said nothing about: see TakeLate
	denies  bool // the last answer was a denial, which may still be remembered
	inDebt  bool // Dealings.unpaid is not 0
}

// Cold are the part of an account that is about the store, and about takes that are denied or admitted on credit.
type cold struct {
	grantedAt [2]limiter.Instant // by the store's clock, when the lots were lent: their name when they go back

	// The last denial, which is remembered if Balance.denies.
	retryAt     limiter.Instant // what clients are told
	deniedUntil limiter.Instant // how long it is remembered

	creditTotal int64 // the number of the last event of credit; 0: there was none yet. See creditAt

	incarnation uint32 // of the store that answered last; it has no more bits
	deniedCost  uint32 // takes of at least this cost are denied
	fullAfter   uint32 // under strict rules: ms from retryAt until the limit is full again
	breachAt    uint32 // s: the last denial that was the first of a window; 0: there was none yet

	askedAfter uint32 // ms after heardAt, when the store was asked last

	// Credit: the events that the store has not debited yet, as far as is known here, and those that may still be admitted in the
	// window. Both are at most MaxCredit.
	unpaid, credit uint16
}

// Take decides a take of cost events at now from what is known here and answers it in d, or reports that the store has to be
// asked. nodes is how many nodes share the credit; 0 for none.
func (a account) Take(r *limiter.Rule, now limiter.Instant, cost int64, nodes int, d *limiter.Decision) (decided bool) {
	if !a.AppliesTo(r) {
		a.switchLimit(r)
	}
	if a.Denies(now, cost) {
		a.repeatDenial(d, r, now, cost)
		return true
	}
	switch {
	case a.spend(now, cost):
		a.answer(d, r, now, limiter.FromLease, cost)
	case nodes > 0 && a.spendCredit(r, now, cost, nodes):
		a.answer(d, r, now, limiter.FromCredit, cost)
	default:
		return false
	}
	a.taken += uint32(min(cost, int64(math.MaxUint32-a.taken)))
	return true
}

// Denies reports whether a denial is remembered that a take of cost events at now would meet as well, as they are not leased.
func (a account) Denies(now limiter.Instant, cost int64) bool {
	return a.denies && a.remembers(now, cost)
}

// remembers is Denies when the last answer was a denial: apart, so that it costs no call where it was none.
func (a account) remembers(now limiter.Instant, cost int64) bool {
	return cost >= int64(a.deniedCost) && now < a.deniedUntil && a.leased(now) < cost
}

// spend spends cost events of the lots, the older first, or none when they do not hold as many.
func (b *hot) spend(now limiter.Instant, cost int64) bool {
	older, newer := b.usable(0, now), b.usable(1, now)
	if older+newer < cost {
		return false
	}
	n := min(older, cost)
	b.remaining[0] -= uint32(n)
	b.remaining[1] -= uint32(cost - n)
	return true
}

// held returns what is leased, also what may be spent no more.
func (b *hot) held() int64 { return int64(b.remaining[0]) + int64(b.remaining[1]) }

// leased returns what may be spent.
func (b *hot) leased(now limiter.Instant) int64 { return b.usable(0, now) + b.usable(1, now) }

// usable returns what may be spent of a lot.
func (b *hot) usable(i int, now limiter.Instant) int64 {
	if b.remaining[i] > 0 && b.usableFor(i, now) > 0 {
		return int64(b.remaining[i])
	}
	return 0
}

// usableFor returns for how many µs a lot may still be spent.
func (b *hot) usableFor(i int, now limiter.Instant) int64 {
	return max(0, int64(b.expires[i])*1000-b.sinceHeard(now))
}

// sinceHeard returns how many µs ago the store was asked for what it said last.
func (b *hot) sinceHeard(now limiter.Instant) int64 { return max(0, int64(now-b.heardAt)) }

// AppliesTo reports whether what the account knows is about the limit of r: that it was last taken or asked for under such a rule.
func (b *hot) AppliesTo(r *limiter.Rule) bool { return b.limit == r.LimitID() }

// switchLimit makes the account one of the limit of r. What is leased of another limit goes back, and what it denied is forgotten.
func (b *hot) switchLimit(r *limiter.Rule) {
	if b.limit != 0 {
		b.expires = [2]uint16{}
		b.denies = false
		b.shown = max(0, r.Capacity()-b.used)
	}
	b.limit = r.LimitID()
}
