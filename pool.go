package fleetlimit

import (
	"github.com/caddyserver/caddy/v2"

	"github.com/fleetlimit/fleetlimit/limiter/memstore"
	"github.com/fleetlimit/fleetlimit/limiter/redisstore"
	"github.com/fleetlimit/fleetlimit/transport"
)

// What outlives a configuration: a reload provisions the new configuration, which takes references here, before the old
// one gives its own back. The pools hold consumption only; limits travel with each take.
//
// A store is the owner of counts, so what is counted in one does not follow a zone to another. The tally of a zone does:
// metrics speak of zones, wherever they are counted.
var (
	clientPool = caddy.NewUsagePool() // redisTarget.identity -> pooledClient
	storePool  = caddy.NewUsagePool() // storeID -> *store
	tablePool  = caddy.NewUsagePool() // zone name -> *zoneTable, of the store in memory
	zonePool   = caddy.NewUsagePool() // zone name -> *zoneState
)

// A storeID tells stores apart. That of the store in the memory of this process is the zero value.
type storeID struct{ client, prefix string }

// acquireMemory returns the store in the memory of this process and a function that gives it back.
func acquireMemory() (*store, func(), error) {
	return acquireStore(storeID{}, func() (*store, error) {
		m := memstore.New(memstore.Options{})
		return &store{Store: m, name: "memory", memory: m, end: m.Close}, nil
	})
}

// acquireRedis returns the store in a Redis and a function that gives it back.
func acquireRedis(target *redisTarget) (*store, func(), error) {
	return acquireStore(storeID{target.identity, target.prefix}, func() (*store, error) {
		client, release, err := acquireClient(target)
		if err != nil {
			return nil, err
		}
		nodes := joinNodes(client, target)
		return &store{Store: redisstore.New(client, target.prefix), name: target.name, nodes: nodes, end: func() {
			nodes.Leave()
			release()
		}}, nil
	})
}

func acquireStore(id storeID, open func() (*store, error)) (*store, func(), error) {
	v, _, err := storePool.LoadOrNew(id, func() (caddy.Destructor, error) { return open() })
	if err != nil {
		return nil, nil, err
	}
	return v.(*store), func() { storePool.Delete(id) }, nil
}

type pooledClient struct{ *transport.Client }

// Destruct closes the connections when no configuration uses them any longer.
func (c pooledClient) Destruct() error {
	c.Close()
	return nil
}

// acquireClient returns the client of a Redis and a function that gives it back.
func acquireClient(target *redisTarget) (*transport.Client, func(), error) {
	v, _, err := clientPool.LoadOrNew(target.identity, func() (caddy.Destructor, error) {
		return pooledClient{transport.New(target.options)}, nil
	})
	if err != nil {
		return nil, nil, err
	}
	return v.(pooledClient).Client, func() { clientPool.Delete(target.identity) }, nil
}

// zoneTable is the counts of a zone in memory. Those in Redis need no such thing: they end by their own expiry there,
// as other nodes use them.
type zoneTable struct {
	zone   string
	memory *memstore.Store
}

// Destruct drops the zone's counts when no configuration has the zone in memory any longer.
func (t *zoneTable) Destruct() error {
	t.memory.Drop(t.zone)
	return nil
}

// acquireTable opens a zone in memory and returns a function that gives it back.
func acquireTable(memory *memstore.Store, zone string) (func(), error) {
	_, _, err := tablePool.LoadOrNew(zone, func() (caddy.Destructor, error) {
		memory.Open(zone)
		return &zoneTable{zone, memory}, nil
	})
	return func() { tablePool.Delete(zone) }, err
}

// acquireZone returns the state of a zone whose counts are in s and a function that gives it back.
func acquireZone(s *store, name string) (*zoneState, func(), error) {
	releaseTable := func() {}
	if s.memory != nil {
		var err error
		if releaseTable, err = acquireTable(s.memory, name); err != nil {
			return nil, nil, err
		}
	}
	v, _, err := zonePool.LoadOrNew(name, func() (caddy.Destructor, error) { return &zoneState{name: name}, nil })
	if err != nil {
		releaseTable()
		return nil, nil, err
	}
	return v.(*zoneState), func() {
		zonePool.Delete(name)
		releaseTable()
	}, nil
}

// pooledZones returns the zones that a configuration uses.
func pooledZones() []*zoneState { return values[*zoneState](zonePool) }

// pooledTables returns the zones that a configuration counts in memory.
func pooledTables() []*zoneTable { return values[*zoneTable](tablePool) }

func values[T any](pool *caddy.UsagePool) (all []T) {
	pool.Range(func(_, v any) bool {
		all = append(all, v.(T))
		return true
	})
	return all
}
