package fleetlimit

import (
	"context"
	"slices"
	"time"

	"github.com/caddyserver/caddy/v2"
	"go.uber.org/zap"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/limiter/lease"
	"github.com/fleetlimit/fleetlimit/limiter/memstore"
	"github.com/fleetlimit/fleetlimit/limiter/redisstore"
	"github.com/fleetlimit/fleetlimit/redisconn"
)

// countFormat names how counts are stored in Redis. A version of this plugin that stores them in
// another way has another one: its counts have other IDs and start at zero, so that two versions on
// one Redis do not read what the other has written. Tests build a version with another one.
var countFormat = "1"

// A store is where the counts of a configuration are.
type store struct {
	limits limitStore
	id     storeID
	name   string            // for logs and metrics
	leases *lease.Store      // the same store; nil: the counts are in memory
	counts *redisstore.Store // from which leases are; nil in memory
	nodes  *fleetMember      // nil in memory
	health health

	breakers  func() []redisconn.Breaker // of the primaries; nil in memory
	lookupErr func() error               // why the primaries cannot be looked up
	open      func(zone string) zoneHandle
	close     func()
}

// A limitStore decides takes, and operators can look into it.
type limitStore interface {
	limiter.Store
	limiter.Operator
	limiter.Lister
}

// A storeID identifies a store. The zero value is the store in memory.
type storeID struct{ client, prefix string }

// Destruct closes the store when the last configuration that uses it ends.
func (s *store) Destruct() error {
	s.close()
	return nil
}

// instant returns t, which was just read, by the clock of the store. Leases have a monotonic clock.
// Decisions of requests are by the wall clock instead, so only the methods below call limits.
func (s *store) instant(t time.Time) limiter.Instant {
	if s.leases != nil {
		return s.leases.At(t)
	}
	return limiter.At(t)
}

// Take calls [limiter.Store.Take].
func (s *store) Take(ctx context.Context, now time.Time, takes []limiter.Take) error {
	return s.limits.Take(ctx, s.instant(now), takes)
}

// Peek calls [limiter.Store.Peek].
func (s *store) Peek(ctx context.Context, now time.Time, takes []limiter.Take) error {
	return s.limits.Peek(ctx, s.instant(now), takes)
}

// Inspect calls [limiter.Operator.Inspect].
func (s *store) Inspect(ctx context.Context, now time.Time, r *limiter.Rule, key []byte) (limiter.Inspection, error) {
	return s.limits.Inspect(ctx, s.instant(now), r, key)
}

// Reset calls [limiter.Operator.Reset].
func (s *store) Reset(ctx context.Context, now time.Time, r *limiter.Rule, key []byte) error {
	return s.limits.Reset(ctx, s.instant(now), r, key)
}

// AddQuota calls [limiter.Operator.AddQuota].
func (s *store) AddQuota(
	ctx context.Context, now time.Time, r *limiter.Rule, key []byte, events int64,
) (limiter.CountState, error) {
	return s.limits.AddQuota(ctx, s.instant(now), r, key, events)
}

// Top calls [limiter.Lister.Top].
func (s *store) Top(now time.Time, q *limiter.TopQuery) []limiter.KeyUse {
	return s.limits.Top(s.instant(now), q)
}

// acquireMemory returns the store in memory and a function that releases it.
func acquireMemory() (*store, func()) {
	return acquire(storePool, storeID{}, func() *store {
		m := memstore.New(memstore.Options{OnOverflow: warnOverflow})
		return &store{
			limits: m, name: "memory", close: m.Close,
			open: func(zone string) zoneHandle { return zoneHandle{m.Open(zone)} },
		}
	})
}

// warnOverflow logs that a zone in memory has no room for a new key. It uses the logger of the
// newest configuration.
func warnOverflow(zone string) {
	caddy.Log().Named(appName).Warn("the zone is full of keys at their limit, so new keys share counts: use a larger max_keys",
		zap.String("zone", zone))
}

// acquireClient returns the connections to a Redis and a function that releases them.
func acquireClient(target *redisTarget) (pooledClient, func()) {
	return acquire(clientPool, target.identity, func() pooledClient {
		options := target.options
		options.OnBreaker, options.OnLookup = target.reportBreaker, target.reportLookup
		return pooledClient{redisconn.New(options)}
	})
}

// acquireRedis returns the store in a Redis and a function that releases it.
func acquireRedis(target *redisTarget) (*store, func()) {
	id := storeID{target.identity, target.prefix}
	return acquire(storePool, id, func() *store {
		client, release := acquireClient(target)
		nodes := joinFleet(client.Client, target)
		counts := redisstore.New(client.Client, target.prefix)
		leases := lease.New(counts, lease.Options{
			Timeout: client.Timeout(), Nodes: nodes.Nodes, OutageNodes: nodes.kept.inOutage,
			ProbeEvery: target.options.Breaker.ProbeEvery, Observe: metrics.storeObserver(target.name),
		})
		return &store{
			limits: leases, id: id, name: target.name, leases: leases, counts: counts, nodes: nodes,
			breakers: client.Breakers, lookupErr: client.LookupErr,
			open: func(zone string) zoneHandle { return zoneHandle{leases.Open(zone)} },
			close: func() {
				leases.Close()
				nodes.Leave()
				release()
				forgetRequests(target.name)
			},
		}
	})
}

// forgetRequests ends the metrics of requests to the stores of a name, unless another store has it:
// a reload may change only the key prefix.
func forgetRequests(name string) {
	if !slices.ContainsFunc(pooledStores(), func(s *store) bool { return s.name == name }) {
		metrics.removeStore(name)
	}
}

type pooledClient struct{ *redisconn.Client }

// Destruct closes the connections when the last configuration that uses them ends.
func (c pooledClient) Destruct() error {
	c.Close()
	return nil
}
