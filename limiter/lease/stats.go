package lease

import (
	"sync/atomic"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// Stats is what a store has done since it was made. Events are those of the limits.
type Stats struct {
	Requests uint64 // to the lender, for loans or decisions

	Granted  uint64 // events lent to this node
	Returned uint64 // events that went back, and were told to the lender
	Expired  uint64 // events that were not spent before their window had passed
	Lost     uint64 // events whose return, or service, has an unknown outcome

	Credited uint64 // events admitted before the lender had answered
	Settled  uint64 // those of them that the lender knows of

	Debt     int64 // events that accounts owe now: admitted before the lender had answered, and not known to it yet
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
	passed, requests, granted, returned, expired, lost, credited, settled atomic.Uint64
}

// asked counts a flight that begins.
func (c *counters) asked() { c.requests.Add(1) }

// answered counts a loan that has been answered and tells of this run of the lender, and returns how many events the lender knows of
// by that which were owed. Another run takes nothing back.
func (c *counters) answered(l *limiter.LeaseRequest, run uint64, err error) (settled int64) {
	back, lost := uint64(l.Cancel.N), uint64(0)
	for _, e := range l.Returns {
		if e.At == 0 { // by a run before
			lost += uint64(e.N)
		} else {
			back += uint64(e.N)
		}
	}
	if err != nil {
		c.lost.Add(lost + back + uint64(l.Need+l.More))
		return 0
	}
	if run != l.Incarnation {
		lost, back = lost+back, 0
	}
	c.lost.Add(lost)
	c.returned.Add(back)
	c.granted.Add(uint64(l.Granted))
	settled = l.CreditTotal - l.SettledTotal
	c.settled.Add(uint64(settled))
	return settled
}

// Stats returns what the store has done.
func (s *Store) Stats() Stats {
	c := &s.stats
	st := Stats{
		Requests: c.requests.Load() + c.passed.Load(),
		Granted:  c.granted.Load(),
		Returned: c.returned.Load(),
		Expired:  c.expired.Load(),
		Lost:     c.lost.Load(),
		Credited: c.credited.Load(),
		Settled:  c.settled.Load(),
	}
	for _, b := range s.openZones() {
		st.Debt += b.debt.Load()
		st.Accounts += int(b.keys.Load())
	}
	return st
}
