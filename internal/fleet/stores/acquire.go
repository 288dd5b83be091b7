package stores

import (
	"context"
	"iter"
	"slices"
	"sync"

	"github.com/fleetlimit/fleetlimit/internal/fleet/pool"
	"github.com/fleetlimit/fleetlimit/internal/fleet/reservation"
	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/limiter/concurrency"
	"github.com/fleetlimit/fleetlimit/limiter/lease"
	"github.com/fleetlimit/fleetlimit/limiter/memstore"
	"github.com/fleetlimit/fleetlimit/limiter/redisstore"
	"github.com/fleetlimit/fleetlimit/redisconn"
)

// A zone has other counts in each store, so its counts do not follow it when it moves to another store.
var (
	clients = pool.New[string, *redisconn.Client]() // by Target.digest
	stores  = pool.New[storeID, *Store]()
	zones   = pool.New[zoneID, openZone]()
)

// A storeID identifies a store. The zero value is the store in memory.
type storeID struct{ client, prefix string }

// A zoneID identifies a zone in a store.
type zoneID struct {
	store storeID
	zone  string
}

// An openZone is a zone in a store: its counts in memory, or the leases that this node has of its
// counts in Redis. Close does not delete counts in Redis, because other nodes use them. They expire by
// themselves.
type openZone interface {
	limiter.Counts
	KeysAtLimit() int
	Keys(yield func(key []byte) bool)
	Close()
}

// Acquire returns the store at target, or the store in memory if target is nil, and a function that
// releases it. It does not wait for a connection. If nobody has acquired that store before, observer is
// told what happens to it.
func Acquire(target *Target, observer Observer) (s *Store, release func()) {
	if target == nil {
		return stores.Acquire(storeID{}, func() *Store { return newInMemory(observer) })
	}
	return stores.Acquire(target.storeID(), func() *Store { return newInRedis(target, observer) })
}

func newInMemory(observer Observer) *Store {
	m := memstore.New(memstore.Options{OnOverflow: observer.Overflow})
	return &Store{
		limits: m, inFlight: concurrency.New(concurrency.Options{}), reservations: reservation.New(false), observer: observer,
		name: "memory", close: m.Close,
		open: func(zone string) openZone { return m.Open(zone) },
	}
}

func newInRedis(target *Target, observer Observer) *Store {
	name := target.name
	client, release := target.Connect(observer)
	node := join(client, target, observer)
	counts := redisstore.New(client, target.prefix)
	leases := lease.New(counts, lease.Options{
		Timeout: client.Timeout(), Nodes: node.Nodes, OutageNodes: node.kept.inOutage,
		ProbeEvery: target.options.Breaker.ProbeEvery, Observe: observer.Asked(name),
	})
	inFlight := concurrency.New(concurrency.Options{
		Lender: counts, Timeout: client.Timeout(), Nodes: node.Nodes, OutageNodes: node.kept.inOutage, Clock: leases.At,
	})
	ctx, stop := context.WithCancel(context.Background())
	var recalls sync.WaitGroup
	recalls.Go(func() { counts.Recalls(ctx, leases.Recall) })
	return &Store{
		limits: leases, inFlight: inFlight, reservations: reservation.New(true), observer: observer, id: target.storeID(), name: name,
		open:  func(zone string) openZone { return leases.Open(zone) },
		redis: &inRedis{leases, counts, node, client},
		close: func() {
			stop()
			recalls.Wait()
			inFlight.Close()
			leases.Close()
			node.leave()
			release()
			// After a reload that changes only the key prefix, another store has this name.
			if !slices.ContainsFunc(stores.All(), func(s *Store) bool { return s.name == name }) {
				observer.Ended(name)
			}
		},
	}
}

// KeysOf returns the keys of a zone that this node has counts, leases or denials of.
func (s *Store) KeysOf(zone string) iter.Seq[[]byte] {
	if open := zones.Get(zoneID{s.id, zone}); open != nil {
		return open.Keys
	}
	return func(func([]byte) bool) {}
}

// Open returns a zone of the store, and a function that releases the zone.
func (s *Store) Open(zone string) (_ limiter.Counts, release func()) {
	return zones.Acquire(zoneID{s.id, zone}, func() openZone { return s.open(zone) })
}
