package usage

import (
	"time"

	"github.com/fleetlimit/fleetlimit/internal/fleet/pool"
	"github.com/fleetlimit/fleetlimit/internal/observe/topkeys"
)

// zones are the counters of all zones, by the name of the zone: handlers that name one zone share
// its counters.
var zones = pool.New[string, *ZoneCounters]()

// Acquire returns the counters of a zone, and a function that releases them.
func Acquire(zone string) (z *ZoneCounters, release func()) {
	return zones.Acquire(zone, func() *ZoneCounters { return newZone(zone) })
}

// All returns the counters of all zones of the process.
func All() []*ZoneCounters { return zones.All() }

// TopOf returns the most used keys of a zone. It returns the zero View if no configuration has the
// zone.
func TopOf(zone string) topkeys.View {
	if z := zones.Get(zone); z != nil {
		return z.Top.View(time.Now())
	}
	return topkeys.View{}
}

// Find returns the counters of a zone. It returns nil if no configuration has the zone.
func Find(zone string) *ZoneCounters { return zones.Get(zone) }

// Keys calls yield with each key in the lists and in the journal of z, until yield returns false. A
// key may come several times.
func (z *ZoneCounters) Keys(yield func(key []byte) bool) {
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

// Close does nothing. The pool calls it when no configuration has the zone any more.
func (*ZoneCounters) Close() {}
