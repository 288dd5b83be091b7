package lease

import (
	"errors"
	"sync/atomic"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// Stats are the totals of a store since it was made. Events are those of the limits.
type Stats struct {
	Requests uint64 // to the lender, for leases or decisions

	Granted  uint64 // events leased to this node
	Returned uint64 // events returned to the lender
	Expired  uint64 // events that were not spent before their window had passed
	Lost     uint64 // events whose return or service has an unknown outcome

	Credited uint64 // events admitted on credit
	Settled  uint64 // events of credit that the lender has debited

	Debt     int64 // events of credit that the lender has not debited yet, now
	Accounts int   // of all zones, now
}

// Plus returns the stats of two stores together.
func (s Stats) Plus(other Stats) Stats {
	s.Requests += other.Requests
	s.Granted += other.Granted
	s.Returned += other.Returned
	s.Expired += other.Expired
	s.Lost += other.Lost
	s.Credited += other.Credited
	s.Settled += other.Settled
	s.Debt += other.Debt
	s.Accounts += other.Accounts
	return s
}

type counters struct {
	delegated, requests, granted, returned, expired, lost, credited, settled atomic.Uint64
}

// replied counts a reply to l, which was for this incarnation of the lender. It returns how many
// events of debt the lender has debited. Another incarnation takes nothing back.
func (c *counters) replied(l *limiter.LeaseRequest, incarnation uint64, err error) (settled int64) {
	returned, lost := uint64(l.Cancel.N), uint64(0)
	for _, e := range l.Returns {
		if e.At == 0 { // of an earlier incarnation
			lost += uint64(e.N)
		} else {
			returned += uint64(e.N)
		}
	}
	if err != nil {
		if !errors.Is(err, limiter.ErrNotAsked) {
			lost += uint64(l.Need + l.More)
		}
		c.lost.Add(lost + returned)
		return 0
	}
	if incarnation != l.Incarnation {
		lost, returned = lost+returned, 0
	}
	c.lost.Add(lost)
	c.returned.Add(returned)
	c.granted.Add(uint64(l.Granted))
	settled = l.CreditTotal - l.SettledTotal
	c.settled.Add(uint64(settled))
	return settled
}

// Stats returns what the store has done.
func (s *Store) Stats() Stats {
	c := &s.stats
	st := Stats{
		Requests: c.requests.Load() + c.delegated.Load(),
		Granted:  c.granted.Load(),
		Returned: c.returned.Load(),
		Expired:  c.expired.Load(),
		Lost:     c.lost.Load(),
		Credited: c.credited.Load(),
		Settled:  c.settled.Load(),
	}
	for _, z := range s.openZones() {
		st.Debt += z.debt.Load()
		st.Accounts += z.accounts.Len()
	}
	return st
}
