package usage

import (
	"sync/atomic"
	"time"
)

// Charges count what requests were charged after their responses.
type Charges struct {
	Used atomic.Bool // the zone charges requests so, or did once

	Known    atomic.Uint64 // requests: the response said what it cost
	Capped   atomic.Uint64 // and it was more than a response may be charged
	Unknown  atomic.Uint64 // it did not say
	Refunded atomic.Uint64 // it had not gone upstream, or had a status that refunds

	Open atomic.Int64 // requests whose response has not ended

	ReservedEvents, ChargedEvents, RefundedEvents atomic.Uint64

	loggedCapped atomic.Int64 // the second at which a capped charge was logged last
}

// LogsCapped reports whether a capped charge at now is to be logged: one a minute.
func (c *Charges) LogsCapped(now time.Time) bool {
	last := c.loggedCapped.Load()
	return now.Unix()-last >= 60 && c.loggedCapped.CompareAndSwap(last, now.Unix())
}

// PastCharges returns what the responses of an endpoint were charged.
func (z *Zone) PastCharges(endpoint string) *ChargeHistory {
	z.mu.Lock()
	defer z.mu.Unlock()
	h := z.past[endpoint]
	if h == nil {
		if z.past == nil {
			z.past = make(map[string]*ChargeHistory)
		}
		h = new(ChargeHistory)
		z.past[endpoint] = h
	}
	return h
}
