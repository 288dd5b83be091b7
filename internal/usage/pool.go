package usage

import (
	"time"

	"github.com/fleetlimit/fleetlimit/internal/journal"
	"github.com/fleetlimit/fleetlimit/internal/pool"
	"github.com/fleetlimit/fleetlimit/internal/topkeys"
)

// zones are by name: metrics are about zones, wherever they are counted.
var zones = pool.New[string, *Zone]()

// Acquire returns the counters of a zone, and a function that releases them.
func Acquire(zone string) (z *Zone, release func()) {
	return zones.Acquire(zone, func() *Zone { return newZone(zone) })
}

// All returns the counters of all zones.
func All() []*Zone { return zones.All() }

// TopOf returns what the lists of a zone have now, nothing if no configuration has the zone.
func TopOf(zone string) topkeys.View {
	if z := zones.Get(zone); z != nil {
		return z.Top.View(time.Now())
	}
	return topkeys.View{}
}

// JournalOf returns the journal of a zone, nil if no configuration has the zone.
func JournalOf(zone string) *journal.Log {
	if z := zones.Get(zone); z != nil {
		return &z.Journal
	}
	return nil
}

// KeysOf returns the keys that the lists and the journal of a zone have. A key may be there several
// times.
func KeysOf(zone string) (keys []string) {
	z := zones.Get(zone)
	if z == nil {
		return nil
	}
	keys = append(z.Top.Rejected.Keys(), z.Top.Taken.Keys()...)
	for _, e := range z.Journal.View().Events {
		keys = append(keys, string(e.Key))
	}
	return keys
}

// Close implements the interface of the pool. Counters hold nothing.
func (*Zone) Close() {}
