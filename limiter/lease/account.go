package lease

import (
	"math"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// An account is what a node knows and holds for one key under one rule: a pure calculator, which
// knows no lock. A take from a lease needs the hot half alone. The halves have no pointers, so
// millions of accounts cost the garbage collector nothing. Two zero halves are a new account.
type account struct {
	*hot
	*cold
}

// hot is the half that a take from a lease needs.
type hot struct {
	// Two leases, the older first, so that a new one can arrive while the old one is spent.
	// remaining does not include what a part accrues. Takes that spend of that make it negative.
	remaining [2]int32
	granted   [2]uint32 // of a bucket: what remaining began with
	expires   [2]uint16 // ms after base: from then on they must not be spent

	// The newer lease of a bucket is a part of it, which accrues.
	share        uint16 // of the refill, in 1/limiter.Shares, and the bit otherLimit
	requesting   bool   // a lease request is under way
	watched      bool   // the wheel has the account, to look after its part
	arrivedAfter uint32 // µs after base: from then on it accrues

	shownAt float32 // µs after base: see shown

	// The newest reply of the store.
	used   int64           // events of the limit
	seenAt limiter.Instant // 0 if there was no reply yet
	base   instant         // when its request was sent, in whole ms: other times count from here

	shown int64 // the remaining events of the limit that clients were told at shownAt

	limitID uint32 // of the limit that the account was last used under

	// Demand, in events of takes.
	taken  uint32  // since the newest request
	demand float32 // before that, each weighed by its age
	recent float32 // as demand, with a shorter memory, and with takes that the remembered denial denies

	debt uint32 // events of an outage that the store is still to debit; at most limiter.MaxMore

	inOutage bool // since the newest reply, the local bucket has decided a take
	denied   bool // the last denial stands: it is repeated until rememberUntil, see clearDenial

	scarceFor uint16 // ms in which each reply said that the bucket is scarce
}

// cold is the half about the store, and about takes that are denied or admitted in an outage.
type cold struct {
	grantedAt [2]limiter.Instant // when the leases were granted: their name in returns

	// The last denial. It has a meaning while denied is set.
	retryAt       instant // what clients are told
	rememberUntil instant // from then on takes ask the store

	incarnation uint32 // of the store that replied last; it has no more bits
	deniedCost  uint32 // takes of at least this cost are denied
	fullAfter   uint32 // ms from retryAt until the limit is full again
	breachAt    uint32 // s: the newest denial that was the first of a window; 0 if there was none yet

	requestedAfter uint32 // ms after base, when the newest request was sent

	debtAfter uint32 // ms after base, when the first event of the debt was admitted

	// The local bucket had local events at localAt: see takeInOutage. It is full when localAt is 0.
	local   int64
	localAt instant
}

// take decides a take of cost events into d, from a lease or by the remembered denial, or reports
// that it cannot.
func (a account) take(r *limiter.Rule, now instant, cost int64, d *limiter.Decision) (decided bool) {
	if !a.appliesTo(r) {
		a.switchLimit(r)
	}
	if a.denies(r, now, cost) {
		a.denyAgain(d, r, now, cost)
		return true
	}
	left, spent := a.spend(r, now, cost)
	if !spent {
		return false
	}
	a.addTaken(cost)
	a.decide(d, r, now, limiter.FromLease, a.show(r, now, cost, left))
	return true
}

func (h *hot) addTaken(events int64) { h.taken += uint32(min(events, int64(math.MaxUint32-h.taken))) }

// appliesTo reports whether what the account holds and remembers applies under the limit of r.
func (h *hot) appliesTo(r *limiter.Rule) bool { return h.limitID == r.LimitID() }

// switchLimit puts the account under the limit of r. If it was under another limit, its leases
// expire, so that the next request returns them; its denial is cleared; and clients are told what
// remains of the new limit. A local bucket keeps what it has: else a key whose limit changes with
// each take would have a new one each time.
func (h *hot) switchLimit(r *limiter.Rule) {
	if h.limitID != 0 {
		h.expires = [2]uint16{}
		if h.share > 0 {
			h.share |= otherLimit
		}
		h.clearDenial()
		h.shown = max(0, r.Capacity()-h.used)
	}
	h.limitID = r.LimitID()
}

// settled reports whether the account holds nothing, and owes the store nothing.
func (h *hot) settled() bool { return h.held() == 0 && h.debt == 0 }
