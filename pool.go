package fleetlimit

import (
	"github.com/caddyserver/caddy/v2"

	"github.com/fleetlimit/fleetlimit/internal/stores"
	"github.com/fleetlimit/fleetlimit/limiter"
)

// zonePool has the counters of zones, which outlive configurations: metrics are about zones,
// wherever they are counted.
var zonePool = caddy.NewUsagePool() // zone name -> *zoneState

// acquire returns the value of key in pool, which open makes if it is not there, and a function
// that releases it.
func acquire[T caddy.Destructor](pool *caddy.UsagePool, key any, open func() T) (T, func()) {
	v, _, _ := pool.LoadOrNew(key, func() (caddy.Destructor, error) { return open(), nil })
	return v.(T), func() { pool.Delete(key) }
}

// values returns all values of pool.
func values[T any](pool *caddy.UsagePool) (all []T) {
	pool.Range(func(_, v any) bool {
		all = append(all, v.(T))
		return true
	})
	return all
}

func pooledZones() []*zoneState { return values[*zoneState](zonePool) }

// acquireZone returns the state of a zone, its handle in s, and a function that releases both.
func acquireZone(s *stores.Store, name string) (*zoneState, limiter.Zone, func()) {
	handle, releaseHandle := s.Open(name)
	state, releaseState := acquire(zonePool, name, func() *zoneState { return &zoneState{name: name} })
	return state, handle, func() {
		releaseState()
		releaseHandle()
	}
}
