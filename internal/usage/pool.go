package usage

import "github.com/fleetlimit/fleetlimit/internal/pool"

// zones are by name: metrics are about zones, wherever they are counted.
var zones = pool.New[string, *Zone]()

// Acquire returns the counters of a zone, and a function that releases them.
func Acquire(zone string) (z *Zone, release func()) {
	return zones.Acquire(zone, func() *Zone { return &Zone{Name: zone} })
}

// All returns the counters of all zones.
func All() []*Zone { return zones.All() }

// Close implements the interface of the pool. Counters hold nothing.
func (*Zone) Close() {}
