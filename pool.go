package fleetlimit

import (
	"slices"

	"github.com/caddyserver/caddy/v2"
	"go.uber.org/zap"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/limiter/lease"
	"github.com/fleetlimit/fleetlimit/limiter/memstore"
	"github.com/fleetlimit/fleetlimit/limiter/redisstore"
	"github.com/fleetlimit/fleetlimit/redisconn"
)

// What outlives a configuration: a reload provisions the new configuration, which takes references here, before the old
// one gives its own back. The pools hold consumption only; limits travel with each take.
//
// A store is the owner of counts, so what is counted in one does not follow a zone to another. The tally of a zone does:
// metrics speak of zones, wherever they are counted.
var (
	clientPool = caddy.NewUsagePool() // redisTarget.identity -> pooledClient
	storePool  = caddy.NewUsagePool() // storeID -> *store
	handlePool = caddy.NewUsagePool() // handleID -> *zoneHandle
	zonePool   = caddy.NewUsagePool() // zone name -> *zoneState
)

// A storeID tells stores apart. That of the store in the memory of this process is the zero value.
type storeID struct{ client, prefix string }

// A handleID tells apart what zones have in stores.
type handleID struct {
	store storeID
	zone  string
}

// acquireMemory returns the store in the memory of this process and a function that gives it back.
func acquireMemory() (*store, func(), error) {
	return acquireStore(storeID{}, func() (*store, error) {
		m := memstore.New(memstore.Options{OnOverflow: warnOverflow})
		return &store{Store: m, name: "memory", memory: m, end: m.Close}, nil
	})
}

// warnOverflow logs, by the newest configuration's logger, that a zone in memory has no room for a
// new key.
func warnOverflow(zone string) {
	caddy.Log().Named(appName).Warn("the zone is full of keys at their limit, so new keys share counts: use a larger max_keys",
		zap.String("zone", zone))
}

// acquireRedis returns the store in a Redis and a function that gives it back.
func acquireRedis(target *redisTarget) (*store, func(), error) {
	id := storeID{target.identity, target.prefix}
	return acquireStore(id, func() (*store, error) {
		client, release, err := acquireClient(target)
		if err != nil {
			return nil, err
		}
		nodes := joinFleet(client, target)
		counts := redisstore.New(client, target.prefix)
		leases := lease.New(counts, lease.Options{
			Timeout: client.Timeout(), Nodes: nodes.Nodes, Settled: nodes.Settled,
			Observe: metrics.storeObserver(target.name),
		})
		return &store{Store: leases, id: id, name: target.name, leases: leases, counts: counts, nodes: nodes, end: func() {
			leases.Close()
			nodes.Leave()
			release()
			forgetRequests(target.name)
		}}, nil
	})
}

// forgetRequests ends the series of requests to the stores of a name, unless there is another one: after a reload that has
// changed its prefix, say.
func forgetRequests(name string) {
	if !slices.ContainsFunc(pooledStores(), func(s *store) bool { return s.name == name }) {
		metrics.removeStore(name)
	}
}

func acquireStore(id storeID, open func() (*store, error)) (*store, func(), error) {
	v, _, err := storePool.LoadOrNew(id, func() (caddy.Destructor, error) { return open() })
	if err != nil {
		return nil, nil, err
	}
	return v.(*store), func() { storePool.Delete(id) }, nil
}

type pooledClient struct{ *redisconn.Client }

// Destruct closes the connections when no configuration uses them any longer.
func (c pooledClient) Destruct() error {
	c.Close()
	return nil
}

// acquireClient returns the client of a Redis and a function that gives it back.
func acquireClient(target *redisTarget) (*redisconn.Client, func(), error) {
	v, _, err := clientPool.LoadOrNew(target.identity, func() (caddy.Destructor, error) {
		return pooledClient{redisconn.New(target.options)}, nil
	})
	if err != nil {
		return nil, nil, err
	}
	return v.(pooledClient).Client, func() { clientPool.Delete(target.identity) }, nil
}

// A zoneHandle is what a zone has in a store: its counts in memory, or what this node knows of its counts in Redis. Those
// in Redis end by their own expiry, as other nodes use them.
type zoneHandle struct {
	limiter.Zone
	close func()
}

// Destruct closes the zone when no configuration has it in that store any longer.
func (h *zoneHandle) Destruct() error {
	h.close()
	return nil
}

// acquireHandle opens a zone in a store and returns a function that gives it back.
func acquireHandle(s *store, zone string) (*zoneHandle, func(), error) {
	id := handleID{s.id, zone}
	v, _, err := handlePool.LoadOrNew(id, func() (caddy.Destructor, error) { return s.open(zone), nil })
	if err != nil {
		return nil, nil, err
	}
	return v.(*zoneHandle), func() { handlePool.Delete(id) }, nil
}

// acquireZone returns the state of a zone, what it has in s, and a function that gives both back.
func acquireZone(s *store, name string) (*zoneState, limiter.Zone, func(), error) {
	handle, releaseHandle, err := acquireHandle(s, name)
	if err != nil {
		return nil, nil, nil, err
	}
	v, _, err := zonePool.LoadOrNew(name, func() (caddy.Destructor, error) { return &zoneState{name: name}, nil })
	if err != nil {
		releaseHandle()
		return nil, nil, nil, err
	}
	return v.(*zoneState), handle.Zone, func() {
		zonePool.Delete(name)
		releaseHandle()
	}, nil
}

// pooledZones returns the zones that a configuration uses.
func pooledZones() []*zoneState { return values[*zoneState](zonePool) }

// pooledStores returns the stores that a configuration uses.
func pooledStores() []*store { return values[*store](storePool) }

// pooledHandles returns what zones have in stores.
func pooledHandles() []*zoneHandle { return values[*zoneHandle](handlePool) }

func values[T any](pool *caddy.UsagePool) (all []T) {
	pool.Range(func(_, v any) bool {
		all = append(all, v.(T))
		return true
	})
	return all
}
