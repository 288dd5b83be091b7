package usage

import (
	"time"

	"github.com/fleetlimit/fleetlimit/internal/fleet/pool"
	"github.com/fleetlimit/fleetlimit/internal/observe/topkeys"
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

// Find returns the counters of a zone, nil if no configuration has the zone.
func Find(zone string) *Zone { return zones.Get(zone) }

// Keys calls yield with the keys that the lists and the journal of z have, until it returns false. A
// key may come several times.
func (z *Zone) Keys(yield func(key []byte) bool) {
	for _, list := range []*topkeys.List{&z.Top.Rejected, &z.Top.Taken} {
		for _, key := range list.Keys() {
			if !yield([]byte(key)) {
				return
			}
		}
	}
	v := z.Journal.View()
	for i := range v.Events {
		if !yield(v.Events[i].Key) {
			return
		}
	}
}

// Close implements the interface of the pool. Counters hold nothing.
func (*Zone) Close() {}
