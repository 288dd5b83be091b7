// Package usage counts what the zones of a process have decided. The counters of a zone outlive its
// configuration: a reload hands them from the old one to the new one, so metrics do not fall.
package usage

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fleetlimit/fleetlimit/internal/observe/adaptive"
	"github.com/fleetlimit/fleetlimit/internal/observe/journal"
	"github.com/fleetlimit/fleetlimit/internal/observe/recent"
	"github.com/fleetlimit/fleetlimit/internal/observe/topkeys"
	"github.com/fleetlimit/fleetlimit/limiter"
)

// A Zone is what outlives a configuration of a zone besides its counts.
type Zone struct {
	Name  string
	Began time.Time

	Top     topkeys.Lists // of the keys that use it most
	Journal journal.Log

	Recent recent.Memory // of its decisions, while somebody wants to try another limit

	Allowed      atomic.Uint64 // past the zone by its allow_key list
	Denied       atomic.Uint64 // 403 by its deny_key list, or for lack of a key; 400 if it is ambiguous
	WouldDeny    atomic.Uint64 // admitted by a dry run, in place of 403 and 400
	MissingKeys  atomic.Uint64
	Ambiguous    atomic.Uint64 // keys, tiers, costs and paths that programs may read differently
	InvalidCosts atomic.Uint64
	UnknownTiers atomic.Uint64
	BeforeAuth   atomic.Uint64
	Unprovided   atomic.Int64 // placeholders of the newest configuration that nothing provides
	Comparisons  Comparisons
	Waits        Waits
	Asked        Durations // of decisions for which Redis was asked
	Charges      Charges

	Concurrent         atomic.Bool   // the zone limits requests at once, or did once
	InFlight           atomic.Int64  // requests that hold a permit
	ConcurrentRejected atomic.Uint64 // of Rejected and WouldReject, for too many requests at once

	StalledRequests  atomic.Uint64 // requests that were ended because their client did not send the body
	StalledResponses atomic.Uint64 // requests that were ended because their client did not read the response

	Adaptive   atomic.Pointer[adaptive.Limiter] // in force; nil if the zone has none
	Overloaded atomic.Uint64                    // 503 by it

	Logged, Emitted ReportLimit // of the first rejections of keys
	InDryRun        Marked      // of dry runs, until a denial rejects a request
	Windowless      ReportLimit // of the lines about rejections without a window: 403s, and by block

	mu       sync.Mutex
	counters []*Counters               // by number
	tiers    []string                  // by Counters.TierNumber
	next     *adaptive.Limiter         // of a configuration that may come into force
	past     map[string]*ChargeHistory // by endpoint
}

// A Limit is the limit in force at an endpoint of a zone for a tier.
type Limit struct {
	Zone, Endpoint, Tier string

	Events int64 // 0 if each request is rejected
	Window time.Duration
}

// Counters count what the limits of a zone have decided, at one endpoint, for keys of one tier.
type Counters struct {
	Endpoint, Tier string // "" for the rest of the zone, and for no tier
	Number         uint32 // among those of the zone
	TierNumber     uint16 // of the tier in the zone

	Admitted    bySource // within the limit
	Queued      bySource // the same, after they have waited for their turn
	Rejected    bySource // 429
	Outage      bySource // admitted by on_outage, as the store did not answer
	Unavailable bySource // 503 by on_outage, as the store did not answer
	WouldReject bySource // admitted by a dry run
}

// newZone returns a zone whose limits have decided nothing.
func newZone(name string) *Zone {
	z := &Zone{Name: name, Began: time.Now()}
	z.Top.Begin(z.Began)
	z.Counters("", "")
	return z
}

// Counters returns the counters of an endpoint and a tier.
func (z *Zone) Counters(endpoint, tier string) *Counters {
	z.mu.Lock()
	defer z.mu.Unlock()
	for _, c := range z.counters { // few: rules remember theirs
		if c.Endpoint == endpoint && c.Tier == tier {
			return c
		}
	}
	c := &Counters{Endpoint: endpoint, Tier: tier, TierNumber: z.tierNumberLocked(tier), Number: uint32(len(z.counters))}
	z.counters = append(z.counters, c)
	return c
}

// tierNumberLocked returns the number of a tier, which outlives configurations as the counters do. It
// needs z.mu.
func (z *Zone) tierNumberLocked(tier string) uint16 {
	i := slices.Index(z.tiers, tier)
	if i < 0 {
		i = len(z.tiers)
		z.tiers = append(z.tiers, tier)
	}
	return uint16(i)
}

// TierCalled returns the tier with a number.
func (z *Zone) TierCalled(number uint16) string {
	z.mu.Lock()
	defer z.mu.Unlock()
	return z.tiers[number]
}

// AdaptiveWith returns the limiter with some settings: the one in force, with what it has learned, if
// it has them. All handlers of a configuration get the same.
func (z *Zone) AdaptiveWith(s adaptive.Settings) *adaptive.Limiter {
	z.mu.Lock()
	defer z.mu.Unlock()
	for _, known := range []*adaptive.Limiter{z.Adaptive.Load(), z.next} {
		if known != nil && known.Settings() == s {
			return known
		}
	}
	z.next = adaptive.New(s)
	return z.next
}

// AllCounters returns the counters of all endpoints and tiers that the zone has had.
func (z *Zone) AllCounters() []*Counters {
	z.mu.Lock()
	defer z.mu.Unlock()
	return slices.Clone(z.counters)
}

// Sum returns the sums of all counters.
func (z *Zone) Sum() *Counters {
	sum := new(Counters)
	for _, c := range z.AllCounters() {
		for source := range limiter.Sources {
			sum.Admitted[source].Add(c.Admitted[source].Load())
			sum.Queued[source].Add(c.Queued[source].Load())
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
