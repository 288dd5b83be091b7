// Package usage counts what the zones of a process have decided. The counters of a zone outlive its
// configuration: a reload hands them from the old configuration to the new one, so no counter of a
// metric falls.
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

// ZoneCounters have what outlives the configuration of a zone, except the counts of its limits.
type ZoneCounters struct {
	Name  string
	Began time.Time

	Top     topkeys.Lists // the most used keys
	Journal journal.Log

	Recent recent.Memory // newest decisions, while somebody wants to try another limit

	Allowed      atomic.Uint64 // requests that an allow_key list let pass the zone
	Denied       atomic.Uint64 // 403 by a deny_key list or because there is no key; 400 because a key is ambiguous
	WouldDeny    atomic.Uint64 // requests that a dry run admitted in place of a 403 or 400
	MissingKeys  atomic.Uint64
	Ambiguous    atomic.Uint64 // keys, tiers, costs and paths that programs may read differently
	InvalidCosts atomic.Uint64
	UnknownTiers atomic.Uint64
	BeforeAuth   atomic.Uint64
	Unprovided   atomic.Int64 // placeholders of the newest configuration that nothing sets
	Comparisons  Comparisons
	Waits        Waits
	Asked        Durations // durations of the decisions for which Redis was asked
	Charges      Charges

	Concurrent         atomic.Bool   // the zone limits requests at once, or has done so
	InFlight           atomic.Int64  // requests that hold a permit
	ConcurrentRejected atomic.Uint64 // those of Rejected and WouldReject that were too many requests at once

	StalledRequests  atomic.Uint64 // requests that were ended because their client did not send the body
	StalledResponses atomic.Uint64 // requests that were ended because their client did not read the response

	Adaptive   atomic.Pointer[adaptive.Limiter] // the limiter in force; nil if the zone has none
	Overloaded atomic.Uint64                    // 503 by the adaptive limiter

	Logged, Emitted ReportLimit // bound logs and events about the first rejections of keys
	InDryRun        Marked      // keys that a dry run has denied, until a denial rejects them
	Windowless      ReportLimit // bounds logs about rejections that have no window: 403, 400 and limits that block

	mu       sync.Mutex
	counters []*Counters               // by Counters.Number
	tiers    []string                  // names, by Counters.TierNumber
	next     *adaptive.Limiter         // of a configuration that is being loaded
	past     map[string]*ChargeHistory // by endpoint
}

// A LimitInForce is the limit that a zone has in force at an endpoint for a tier.
type LimitInForce struct {
	Zone, Endpoint, Tier string

	Events int64 // per window; 0 if each request is rejected
	Window time.Duration
}

// Counters count what a zone has decided at one endpoint about keys of one tier.
type Counters struct {
	Endpoint, Tier string // Endpoint is "" for the rest of the zone, and Tier is "" for keys without a tier
	Number         uint32 // index among the counters of the zone
	TierNumber     uint16 // index of the tier in the zone

	Admitted    bySource // within the limit
	Queued      bySource // within the limit, after they have waited for their turn
	Rejected    bySource // 429
	Outage      bySource // admitted by on_outage because the store did not answer
	Unavailable bySource // 503 by on_outage because the store did not answer
	WouldReject bySource // admitted by a dry run
}

// newZone returns a zone whose limits have decided nothing.
func newZone(name string) *ZoneCounters {
	z := &ZoneCounters{Name: name, Began: time.Now()}
	z.Top.Begin(z.Began)
	z.Counters("", "")
	return z
}

// Counters returns the counters of an endpoint and a tier. It makes them if there are none.
func (z *ZoneCounters) Counters(endpoint, tier string) *Counters {
	z.mu.Lock()
	defer z.mu.Unlock()
	for _, c := range z.counters { // a linear search, as rules keep their counters
		if c.Endpoint == endpoint && c.Tier == tier {
			return c
		}
	}
	c := &Counters{Endpoint: endpoint, Tier: tier, TierNumber: z.tierNumberLocked(tier), Number: uint32(len(z.counters))}
	z.counters = append(z.counters, c)
	return c
}

// tierNumberLocked returns the number of a tier, which outlives configurations like the counters.
// It needs z.mu.
func (z *ZoneCounters) tierNumberLocked(tier string) uint16 {
	i := slices.Index(z.tiers, tier)
	if i < 0 {
		i = len(z.tiers)
		z.tiers = append(z.tiers, tier)
	}
	return uint16(i)
}

// TierCalled returns the name of the tier with this number.
func (z *ZoneCounters) TierCalled(number uint16) string {
	z.mu.Lock()
	defer z.mu.Unlock()
	return z.tiers[number]
}

// AdaptiveWith returns a limiter with the settings s. It is the one in force, with what that has
// learned, if its settings are equal to s. Otherwise all handlers of a configuration get one new
// limiter.
func (z *ZoneCounters) AdaptiveWith(s adaptive.Settings) *adaptive.Limiter {
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

// AllCounters returns the counters of all endpoints and tiers that the zone has had since it began.
func (z *ZoneCounters) AllCounters() []*Counters {
	z.mu.Lock()
	defer z.mu.Unlock()
	return slices.Clone(z.counters)
}

// Sum returns the sum of all counters of the zone.
func (z *ZoneCounters) Sum() *Counters {
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

// Total returns the sum over all sources.
func (b *bySource) Total() (n uint64) {
	for i := range b {
		n += b[i].Load()
	}
	return n
}

// Addresses count the requests that are decided by the address of the client, before any zone.
type Addresses struct {
	Allowed       atomic.Uint64 // requests that an allow list let pass all zones
	Denied        atomic.Uint64 // 403 by a deny list
	ExemptProxies atomic.Uint64 // those of Allowed that came directly from an address that is probably a proxy

	// UntrustedProxies counts requests that a zone counted by the address of a probable proxy.
	UntrustedProxies atomic.Uint64
}
