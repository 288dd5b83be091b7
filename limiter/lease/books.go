package lease

import (
	"maps"
	"sync/atomic"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// nearSize is how many books are found without the name of their zone being hashed.
const nearSize = 128

// Books are those of all zones that are open. They are replaced as a whole when a zone is opened or dropped.
type zoneTables struct {
	byZone map[string]*zoneTable
	near   [nearSize]atomic.Pointer[zoneTable] // by the lower bits of rule IDs: what was found last
}

// of returns the book of the zone of r, or nil when it is not open.
func (b *zoneTables) of(r *limiter.Rule) *zoneTable {
	near := &b.near[r.ID%nearSize]
	if found := near.Load(); found != nil && found.zone == r.Zone {
		return found
	}
	found := b.byZone[r.Zone]
	near.Store(found)
	return found
}

// with returns b and one book more.
func (b *zoneTables) with(more *zoneTable) *zoneTables {
	byZone := maps.Clone(b.byZone)
	if byZone == nil {
		byZone = make(map[string]*zoneTable)
	}
	byZone[more.zone] = more
	return &zoneTables{byZone: byZone}
}

// without returns b but for the book of a zone.
func (b *zoneTables) without(zone string) *zoneTables {
	byZone := maps.Clone(b.byZone)
	delete(byZone, zone)
	return &zoneTables{byZone: byZone}
}
