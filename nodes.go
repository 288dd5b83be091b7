package fleetlimit

import (
	"encoding/json"
	"sync/atomic"

	"go.uber.org/zap"

	"github.com/fleetlimit/fleetlimit/fleet"
	"github.com/fleetlimit/fleetlimit/transport"
)

// nodes are the nodes of the fleet that share a store. They outlive a configuration, and log by the newest one's logger.
type nodes struct {
	*fleet.Member
	store  string // for logs
	logger atomic.Pointer[zap.Logger]
}

// joinNodes joins the fleet that counts in a Redis. Nothing is announced before a configuration starts.
func joinNodes(client *transport.Client, target *redisTarget) *nodes {
	n := &nodes{store: target.name}
	n.Member = fleet.Join(client, target.prefix, n.warn)
	return n
}

// warn logs that another node means something else by the name of a zone.
func (n *nodes) warn(d fleet.Difference) {
	n.logger.Load().Warn("another node defines the zone differently: write it the same on all nodes, or give one of the two "+
		"another name or another key_prefix", zap.String("zone", d.Zone), zap.String("node", d.Node), zap.String("store", n.store))
}

// announce tells the other nodes how the app's zones are defined, for as long as the app runs.
func (n *nodes) announce(a *App) {
	n.logger.Store(a.logger)
	n.Define(a, a.zoneDefinitions())
}

// zoneDefinitions returns a text for each zone, which is the same for zones that mean the same.
func (a *App) zoneDefinitions() map[string]string {
	a.mu.Lock()
	defer a.mu.Unlock()
	texts := make(map[string]string, len(a.definitions))
	for name, d := range a.definitions {
		shared := struct {
			Zone      string
			Algorithm *Algorithm
			Tiers     map[string]*Limit
		}{Zone: d.text, Algorithm: a.defaults.Algorithm}
		if d.tiers {
			shared.Tiers = a.Tiers
		}
		text, err := json.Marshal(shared)
		if err != nil {
			continue // it was unmarshalled from JSON, so it does not fail
		}
		texts[name] = string(text)
	}
	return texts
}
