package usage

import (
	"sync/atomic"
	"time"
)

// Charges count the requests of a zone that are charged after their responses. Known, Capped,
// Unknown and Refunded count each of them once.
type Charges struct {
	Used atomic.Bool // the zone charges requests after their responses, or has done so

	Known    atomic.Uint64 // requests whose response said what it cost
	Capped   atomic.Uint64 // requests whose response said more than a response may be charged
	Unknown  atomic.Uint64 // requests whose response did not say what it cost
	Refunded atomic.Uint64 // requests that did not go upstream, or whose status refunds

	Open atomic.Int64 // requests whose response has not ended

	ReservedEvents, ChargedEvents, RefundedEvents atomic.Uint64

	loggedCapped atomic.Int64 // Unix time at which LogsCapped was true last
}

// LogsCapped reports whether a capped charge at now is to be logged. It returns true at most once a
// minute.
func (c *Charges) LogsCapped(now time.Time) bool {
	last := c.loggedCapped.Load()
	return now.Unix()-last >= 60 && c.loggedCapped.CompareAndSwap(last, now.Unix())
}

// PastCharges returns the history of what the responses of an endpoint were charged.
func (z *ZoneCounters) PastCharges(endpoint string) *ChargeHistory {
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
