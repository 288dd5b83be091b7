package fleetlimit

import (
	"sync/atomic"

	"github.com/caddyserver/caddy/v2"

	"github.com/fleetlimit/fleetlimit/limiter/memstore"
)

// What outlives a configuration: a reload provisions the new configuration, which takes references here, before the old
// one gives its own back. The pools hold consumption only; limits travel with each take.
var (
	storePool = caddy.NewUsagePool() // string -> *pooledStore
	zonePool  = caddy.NewUsagePool() // zone name -> *zoneState
)

// memoryStore is the key of the store in the memory of this process.
const memoryStore = "memory"

type pooledStore struct{ *memstore.Store }

// Destruct ends the store when no configuration uses it any longer.
func (s pooledStore) Destruct() error {
	s.Close()
	return nil
}

// acquireStore returns the store of this process and a function that gives it back.
func acquireStore() (*memstore.Store, func(), error) {
	v, _, err := storePool.LoadOrNew(memoryStore, func() (caddy.Destructor, error) {
		return pooledStore{memstore.New(memstore.Options{})}, nil
	})
	if err != nil {
		return nil, nil, err
	}
	return v.(pooledStore).Store, func() { storePool.Delete(memoryStore) }, nil
}

// zoneState is what a zone has besides its limits: its counts in the store, and what is counted for metrics.
type zoneState struct {
	name  string
	store *memstore.Store
	tally tally
}

// tally counts what became of requests since the zone exists.
type tally struct {
	admitted     atomic.Uint64 // within the limit
	rejected     atomic.Uint64 // 429
	allowed      atomic.Uint64 // past the zone by its allow_key list
	denied       atomic.Uint64 // 403 by its deny_key list, or for want of a key
	missingKeys  atomic.Uint64
	invalidCosts atomic.Uint64
}

// Destruct drops the zone's counts when no configuration has the zone any longer.
func (z *zoneState) Destruct() error {
	z.store.Drop(z.name)
	return nil
}

// acquireZone returns the state of a zone and a function that gives it back.
func acquireZone(store *memstore.Store, name string) (*zoneState, func(), error) {
	v, _, err := zonePool.LoadOrNew(name, func() (caddy.Destructor, error) {
		store.Open(name)
		return &zoneState{name: name, store: store}, nil
	})
	if err != nil {
		return nil, nil, err
	}
	return v.(*zoneState), func() { zonePool.Delete(name) }, nil
}

// pooledZones returns the zones that a configuration uses.
func pooledZones() []*zoneState {
	var zones []*zoneState
	zonePool.Range(func(_, v any) bool {
		zones = append(zones, v.(*zoneState))
		return true
	})
	return zones
}
