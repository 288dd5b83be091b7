package fleetlimit

import (
	"github.com/caddyserver/caddy/v2"

	"github.com/fleetlimit/fleetlimit/internal/usage"
	"github.com/fleetlimit/fleetlimit/limiter"
)

// The pools hold what outlives a configuration: consumption, but no limits, which travel with each
// take. A reload provisions the new configuration, which takes references here, before the old one
// releases its own.
//
// Counts belong to a store, so they do not follow a zone from one store to another. The counters of
// a zone do: metrics are about zones, wherever they are counted.
var (
	clientPool = caddy.NewUsagePool() // redisTarget.identity -> pooledClient
	storePool  = caddy.NewUsagePool() // storeID -> *store
	handlePool = caddy.NewUsagePool() // handleID -> zoneHandle
	zonePool   = caddy.NewUsagePool() // zone name -> *zoneState
)

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

func pooledZones() []*usage.Zone  { return values[*usage.Zone](zonePool) }
func pooledStores() []*store      { return values[*store](storePool) }
func pooledHandles() []zoneHandle { return values[zoneHandle](handlePool) }

// A handleID identifies a zone in a store.
type handleID struct {
	store storeID
	zone  string
}

// A zoneHandle is what a zone has in a store: its counts in memory, or what this node knows of its
// counts in Redis. Those in Redis expire by themselves, because other nodes use them.
type zoneHandle struct {
	Zone interface {
		limiter.Zone
		Close()
	}
}

// Destruct closes the zone when the last configuration that has it in that store ends.
func (h zoneHandle) Destruct() error {
	h.Zone.Close()
	return nil
}

// acquireZone returns the state of a zone, its handle in s, and a function that releases both.
func acquireZone(s *store, name string) (*usage.Zone, limiter.Zone, func()) {
	handle, releaseHandle := acquire(handlePool, handleID{s.id, name}, func() zoneHandle { return s.open(name) })
	state, releaseState := acquire(zonePool, name, func() *usage.Zone { return &usage.Zone{Name: name} })
	return state, handle.Zone, func() {
		releaseState()
		releaseHandle()
	}
}
