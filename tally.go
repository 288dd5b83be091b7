package fleetlimit

import (
	"sync/atomic"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// zoneState is what outlives a configuration of a zone besides its counts.
type zoneState struct {
	name     string
	counters zoneCounters

	logged, emitted reportLimit

	maxOvershoot atomic.Uint64 // the bits of a float64: see zone.overshoot; 0 in memory
}

// Destruct does nothing: the tally ends with the last configuration that has the zone.
func (z *zoneState) Destruct() error { return nil }

// zoneCounters counts what became of requests since the zone exists.
type zoneCounters struct {
	admitted     bySource      // within the limit
	rejected     bySource      // 429
	degraded     atomic.Uint64 // admitted uncounted, as the store did not answer
	allowed      atomic.Uint64 // past the zone by its allow_key list
	denied       atomic.Uint64 // 403 by its deny_key list, or for want of a key
	missingKeys  atomic.Uint64
	ambiguous    atomic.Uint64 // keys, tiers and costs that programs may read differently
	invalidCosts atomic.Uint64
}

// bySource counts by what was decided.
type bySource [limiter.Sources]atomic.Uint64

func (b *bySource) total() (n uint64) {
	for i := range b {
		n += b[i].Load()
	}
	return n
}
