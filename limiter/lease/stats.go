package lease

import (
	"errors"
	"sync/atomic"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// Stats are the totals of a store since it was made.
type Stats struct {
	Requests uint64 // calls to the lender, for leases or decisions

	Granted  uint64 // events leased to this node
	Returned uint64 // events returned to the lender
	Expired  uint64 // events that were not spent before their window had passed
	Lost     uint64 // events whose return or service has an unknown outcome

	Debt        uint64 // events that were admitted without asking the lender, which was in an outage
	DebtSettled uint64 // how many events of Debt the lender has debited since
	DebtDropped uint64 // how many events of Debt the lender will never debit: see account.addDebt

	Accounts int // how many accounts all zones have now
}

// Plus returns the stats of two stores together.
func (s Stats) Plus(other Stats) Stats {
	s.Requests += other.Requests
	s.Granted += other.Granted
	s.Returned += other.Returned
	s.Expired += other.Expired
	s.Lost += other.Lost
	s.Debt += other.Debt
	s.DebtSettled += other.DebtSettled
	s.DebtDropped += other.DebtDropped
	s.Accounts += other.Accounts
	return s
}

// OutageDebt returns how many events of Debt the lender is still to debit.
func (s Stats) OutageDebt() int64 { return int64(s.Debt - s.DebtSettled - s.DebtDropped) }

type counters struct {
	delegated, requests, granted, returned, expired, lost, debt, debtSettled, debtDropped atomic.Uint64
}

// settled counts how many events of a debt the reply l has debited. It counts the rest as dropped.
// If the request has failed, it counts all events as dropped.
func (c *counters) settled(events int64, l *limiter.LeaseRequest, err error) {
	settled := int64(0)
	if err == nil {
		settled = max(0, min(events, l.Served))
	}
	c.debtSettled.Add(uint64(settled))
	c.debtDropped.Add(uint64(events - settled))
}

// replied counts the reply l to a request for this incarnation of the lender. If another
// incarnation has answered, it has taken nothing back.
func (c *counters) replied(l *limiter.LeaseRequest, incarnation uint64, err error) {
	returned, lost := uint64(l.Cancel.N), uint64(0)
	for _, e := range l.Returns {
		unspent := uint64(max(0, e.N-e.Spent)) // how much a part has accrued is not known here
		if e.At == 0 {                         // of an earlier incarnation
			lost += unspent
		} else {
			returned += unspent
		}
	}
	if err != nil {
		if !errors.Is(err, limiter.ErrNotAsked) {
			lost += uint64(l.Need + l.More)
		}
		c.lost.Add(lost + returned)
		return
	}
	if incarnation != l.Incarnation {
		lost, returned = lost+returned, 0
	}
	c.lost.Add(lost)
	c.returned.Add(returned)
	c.granted.Add(uint64(l.Granted))
}

// Stats returns the totals of the store.
func (s *Store) Stats() Stats {
	c := &s.stats
	st := Stats{
		Requests: c.requests.Load() + c.delegated.Load(),
		Granted:  c.granted.Load(),
		Returned: c.returned.Load(),
		Expired:  c.expired.Load(),
		Lost:     c.lost.Load(),
	}
	st.DebtSettled, st.DebtDropped = c.debtSettled.Load(), c.debtDropped.Load()
	st.Debt = c.debt.Load() // last, so that it is not less than what is settled
	for _, z := range s.openZones() {
		st.Accounts += z.accounts.Len()
	}
	return st
}
