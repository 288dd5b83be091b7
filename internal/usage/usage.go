// Package usage counts what the zones of a process have decided. The counters of a zone outlive its
// configuration: a reload hands them from the old one to the new one, so metrics do not fall.
package usage

import (
	"sync/atomic"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// A Zone is what outlives a configuration of a zone besides its counts.
type Zone struct {
	Name string

	Admitted     bySource      // within the limit
	Rejected     bySource      // 429
	Outage       bySource      // admitted by on_outage, as the store did not answer
	Unavailable  bySource      // 503 by on_outage, as the store did not answer
	Allowed      atomic.Uint64 // past the zone by its allow_key list
	Denied       atomic.Uint64 // 403 by its deny_key list, or for lack of a key; 400 if it is ambiguous
	WouldReject  bySource      // admitted by a dry run
	WouldDeny    atomic.Uint64 // the same, in place of 403 and 400
	MissingKeys  atomic.Uint64
	Ambiguous    atomic.Uint64 // keys, tiers, costs and paths that programs may read differently
	InvalidCosts atomic.Uint64
	UnknownTiers atomic.Uint64
	BeforeAuth   atomic.Uint64
	Comparisons  Comparisons

	Concurrent         atomic.Bool   // the zone limits requests at once, or did once
	InFlight           atomic.Int64  // requests that hold a permit
	ConcurrentRejected atomic.Uint64 // of Rejected and WouldReject, for too many requests at once

	Logged, Emitted ReportLimit // of the first rejections of keys
	Windowless      ReportLimit // of the lines about rejections without a window: 403s, and by block
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
