package fleetlimit

import (
	"context"
	"sync"
	"sync/atomic"

	"go.uber.org/zap"

	"github.com/fleetlimit/fleetlimit/membership"
	"github.com/fleetlimit/fleetlimit/redisconn"
)

// A fleetMember is this node in the fleet that shares a store. It outlives configurations and logs
// with the logger of the newest one.
type fleetMember struct {
	*membership.Member
	store  string // for logs
	logger atomic.Pointer[zap.Logger]
	kept   *keptSize
	end    context.CancelFunc // of kept
	ended  sync.WaitGroup
}

// joinFleet joins the fleet that counts in a Redis. The node announces nothing before a
// configuration starts.
func joinFleet(client *redisconn.Client, target *redisTarget) *fleetMember {
	m := &fleetMember{store: target.name}
	m.Member = membership.Join(client, target.prefix, m.logMismatch)
	m.kept = newKeptSize(target.name, target.prefix, m.Known, func(message string, fields ...zap.Field) {
		m.logger.Load().Warn(message, append(fields, zap.String("store", m.store))...)
	})
	ctx, end := context.WithCancel(context.Background())
	m.end = end
	m.ended.Go(func() { m.kept.run(ctx) })
	return m
}

// Leave ends the membership.
func (m *fleetMember) Leave() {
	m.end()
	m.ended.Wait()
	m.Member.Leave()
}

// logMismatch logs that another node defines a zone differently, or that none does any more.
func (m *fleetMember) logMismatch(d membership.Mismatch) {
	if len(d.Settings) == 0 {
		m.logger.Load().Info("no other node defines the zone differently any more", zap.String("zone", d.Zone),
			zap.String("store", m.store))
		return
	}
	m.logger.Load().Warn("another node defines the zone differently: use the same definition on all nodes, or another "+
		"name or key_prefix", zap.String("zone", d.Zone), zap.Strings("differs_in", d.Settings), zap.String("node", d.Node),
		zap.String("store", m.store))
}

// fleetDefinitions returns the definitions of the app's zones by name.
func (a *App) fleetDefinitions() map[string]membership.Definition {
	a.mu.Lock()
	defer a.mu.Unlock()
	definitions := make(map[string]membership.Definition, len(a.definitions))
	for name, z := range a.definitions {
		definitions[name] = a.FleetDefinition(z)
		definitions[name]["count_format"] = countFormat
	}
	return definitions
}
