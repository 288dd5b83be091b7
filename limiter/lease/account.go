package lease

import (
	"math"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// An account is what a node knows and holds for one key under one rule. It is a pure calculator and
// knows no lock. A take from a lease needs the hot half alone. The halves have no pointers, so
// millions of accounts cost the garbage collector nothing. Two zero halves are a new account.
type account struct {
	*hot
	*cold
}

// hot is the half of an account that a take from a lease needs.
type hot struct {
	// Two leases, the older first, so that a new one can arrive while the old one is spent.
	// remaining does not include the events that a part accrues, so it is negative once takes have
	// spent some of those.
	remaining [2]int32
	granted   [2]uint32 // of parts only: the first value of remaining
	expires   [2]uint32 // ms after base, when the lease must not be spent any more

	// The newer lease of a bucket is a part of it, which accrues events.
	arrivedAfter uint32 // µs after base, when the part arrived and began to accrue
	windowEnds   uint32 // µs after base, when to call noteSpends; 0 if spends are not noted
	share        uint16 // of the refill, in 1/limiter.Shares; and the bit otherLimit

	requesting bool // a lease request is under way, or takes are about to ask again

	shownAt float32 // µs after base, when clients were told shown

	// The newest reply of the store.
	used   int64           // how many events of the limit were used
	seenAt limiter.Instant // 0 if there was no reply yet
	base   instant         // when its request was sent, in whole ms

	shown int64 // the remaining events of the limit that clients were told at shownAt

	limitID uint32 // of the limit that the account was last used under

	// Demand: how many events takes have spent or asked for.
	taken  uint32  // since the newest request
	demand float32 // before that request, each event weighed by its age
	recent float32 // like demand, over a shorter time; with takes that were denied again

	debt uint32 // events that the store is still to debit; at most limiter.MaxMore

	inOutage bool // since the newest reply, the local bucket has decided a take
	denied   bool // the last denial was not cleared: it is repeated until rememberUntil
	ample    bool // the newest reply says that the bucket is ample
}

// cold is the half about the store, and about takes that are denied or are decided in an outage.
type cold struct {
	grantedAt [2]limiter.Instant // when the leases were granted: their names in returns

	// The last denial. It applies while denied is set.
	retryAt       instant // the retry instant that clients are told
	rememberUntil instant // from then on takes ask the store

	incarnation uint32 // of the store that replied last; it has at most 32 bits
	deniedCost  uint32 // takes of at least this cost are denied
	fullAfter   uint32 // ms from retryAt until the key has its full limit again
	breachAt    uint32 // s of the newest denial that began a window; 0 if there was none

	requestedAfter uint32 // ms after base, when the newest request was sent

	watchedAt uint32 // the tick in which the wheel looks after the part; 0 if it does not

	debtAfter uint32 // ms after base, when the first event of the debt was admitted

	// The local bucket had local events at localAt: see takeInOutage. It is full if localAt is 0.
	local   int64
	localAt instant

	// When events of a part without a share were spent: see account_spends.go.
	spends      limiter.Spends
	spendsNoted uint32 // how many of these events noteSpends has seen

	scarceFor uint16 // for how many ms all replies have said that the bucket is scarce
}

// take decides a take of cost events from a lease or by the remembered denial, and sets d to the
// decision. It reports false if neither decides the take.
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

// appliesTo reports whether what the account holds and remembers is valid under the limit of r.
func (h *hot) appliesTo(r *limiter.Rule) bool { return h.limitID == r.LimitID() }

// switchLimit puts the account under the limit of r. If it was under another limit, its leases
// expire, so that the next request returns them. Its denial is cleared. Clients are told what
// remains of the new limit. The local bucket keeps its events: otherwise a key whose limit changes
// with each take would have a new bucket each time.
func (h *hot) switchLimit(r *limiter.Rule) {
	if h.limitID != 0 {
		h.retire()
		h.windowEnds = 0
		if h.share > 0 {
			h.share |= otherLimit
		}
		h.clearDenial()
		h.shown = max(0, r.Capacity()-h.used)
	}
	h.limitID = r.LimitID()
}

// settled reports whether the account has neither a lease nor debt.
func (h *hot) settled() bool { return h.held() == 0 && h.debt == 0 }
