// Package usage counts what the zones of a process have decided. The counters of a zone outlive its
// configuration: a reload hands them from the old one to the new one, so metrics do not fall.
package usage

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fleetlimit/fleetlimit/internal/pastcharges"
	"github.com/fleetlimit/fleetlimit/internal/topkeys"
	"github.com/fleetlimit/fleetlimit/limiter"
)

// A Zone is what outlives a configuration of a zone besides its counts.
type Zone struct {
	Name string

	Top topkeys.Lists // of the keys that use it most

	Allowed      atomic.Uint64 // past the zone by its allow_key list
	Denied       atomic.Uint64 // 403 by its deny_key list, or for lack of a key; 400 if it is ambiguous
	WouldDeny    atomic.Uint64 // admitted by a dry run, in place of 403 and 400
	MissingKeys  atomic.Uint64
	Ambiguous    atomic.Uint64 // keys, tiers, costs and paths that programs may read differently
	InvalidCosts atomic.Uint64
	UnknownTiers atomic.Uint64
	BeforeAuth   atomic.Uint64
	Comparisons  Comparisons
	Charges      Charges

	Concurrent         atomic.Bool   // the zone limits requests at once, or did once
	InFlight           atomic.Int64  // requests that hold a permit
	ConcurrentRejected atomic.Uint64 // of Rejected and WouldReject, for too many requests at once

	Logged, Emitted ReportLimit // of the first rejections of keys
	Windowless      ReportLimit // of the lines about rejections without a window: 403s, and by block

	mu       sync.Mutex
	counters map[place]*Counters
	past     map[string]*pastcharges.History // by endpoint
}

// A Limit is the limit in force at an endpoint of a zone for a tier.
type Limit struct {
	Zone, Endpoint, Tier string

	Events int64 // 0: each request is rejected
	Window time.Duration
}

// A place is an endpoint and a tier.
type place struct{ endpoint, tier string }

// Counters count what the limits of a zone have decided, at one endpoint, for keys of one tier.
type Counters struct {
	Endpoint, Tier string // "": the rest of the zone; none

	Admitted    bySource // within the limit
	Rejected    bySource // 429
	Outage      bySource // admitted by on_outage, as the store did not answer
	Unavailable bySource // 503 by on_outage, as the store did not answer
	WouldReject bySource // admitted by a dry run
}

// newZone returns a zone whose limits have decided nothing.
func newZone(name string) *Zone {
	z := &Zone{Name: name}
	z.Top.Begin(time.Now())
	z.Counters("", "")
	return z
}

// Counters returns the counters of an endpoint and a tier.
func (z *Zone) Counters(endpoint, tier string) *Counters {
	z.mu.Lock()
	defer z.mu.Unlock()
	at := place{endpoint, tier}
	if z.counters[at] == nil {
		if z.counters == nil {
			z.counters = make(map[place]*Counters)
		}
		z.counters[at] = &Counters{Endpoint: endpoint, Tier: tier}
	}
	return z.counters[at]
}

// AllCounters returns the counters of all endpoints and tiers that the zone has had.
func (z *Zone) AllCounters() []*Counters {
	z.mu.Lock()
	defer z.mu.Unlock()
	return slices.Collect(maps.Values(z.counters))
}

// Sum returns the sums of all counters.
func (z *Zone) Sum() *Counters {
	sum := new(Counters)
	for _, c := range z.AllCounters() {
		for source := range limiter.Sources {
			sum.Admitted[source].Add(c.Admitted[source].Load())
			sum.Rejected[source].Add(c.Rejected[source].Load())
			sum.Outage[source].Add(c.Outage[source].Load())
			sum.Unavailable[source].Add(c.Unavailable[source].Load())
			sum.WouldReject[source].Add(c.WouldReject[source].Load())
		}
	}
	return sum
}

// bySource counts decisions by their source.
type bySource [limiter.Sources]atomic.Uint64

// Total returns the sum of all sources.
func (b *bySource) Total() (n uint64) {
	for i := range b {
		n += b[i].Load()
	}
	return n
}

// An Addresses counts the requests that the client's address decides, before any zone.
type Addresses struct {
	Allowed       atomic.Uint64 // past all zones by an allow list
	Denied        atomic.Uint64 // 403 by a deny list
	ExemptProxies atomic.Uint64 // of allowed, by the address of what is probably a proxy

	// UntrustedProxies are requests that a zone has counted by such an address.
	UntrustedProxies atomic.Uint64
}
