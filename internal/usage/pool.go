package usage

import (
	"time"

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

// Of returns the counters of a zone, or nil if no configuration has it.
func Of(zone string) *Zone { return zones.Get(zone) }

// TopOf returns what the lists of a zone have now, nothing if no configuration has the zone.
func TopOf(zone string) topkeys.View {
	if z := zones.Get(zone); z != nil {
		return z.Top.View(time.Now())
	}
	return topkeys.View{}
}

// Close implements the interface of the pool. Counters hold nothing.
func (*Zone) Close() {}
