package fleetlimit

import (
	"encoding/json"
	"fmt"
	"maps"
	"sync/atomic"

	"go.uber.org/zap"

	"github.com/fleetlimit/fleetlimit/membership"
	"github.com/fleetlimit/fleetlimit/redisconn"
)

// fleetMember are the nodes of the fleet that share a store. They outlive a configuration, and log by the newest one's logger.
type fleetMember struct {
	*membership.Member
	store  string // for logs
	logger atomic.Pointer[zap.Logger]
}

// joinFleet joins the fleet that counts in a Redis. Nothing is announced before a configuration starts.
func joinFleet(client *redisconn.Client, target *redisTarget) *fleetMember {
	n := &fleetMember{store: target.name}
	n.Member = membership.Join(client, target.prefix, n.warn)
	return n
}

// warn logs that another node means something else by the name of a zone.
func (n *fleetMember) warn(d membership.Mismatch) {
	n.logger.Load().Warn("another node defines the zone differently: write it the same on all nodes, or give one of the two "+
		"another name or another key_prefix", zap.String("zone", d.Zone), zap.String("node", d.Node), zap.String("store", n.store))
}

// maxNodes is the most that `nodes` may say.
const maxNodes = 10000

// checkNodes returns an error that says what to write instead when the size of the fleet does not make sense.
func (a *App) checkNodes() error {
	switch {
	case a.Nodes < 0 || a.Nodes > maxNodes:
		return fmt.Errorf("nodes is %d: say 1 to %d, or leave it out to have them counted", a.Nodes, maxNodes)
	case a.Nodes > 0 && a.Redis == nil:
		return fmt.Errorf("nodes says how many share a Redis, and there is none: add `redis`, or remove `nodes`")
	}
	return nil
}

// announce tells the other nodes how the app's zones are defined, for as long as the app runs.
func (n *fleetMember) announce(a *App) {
	n.logger.Store(a.logger)
	n.Define(a, a.zoneDefinitions(), a.Nodes)
}

// zoneDefinitions returns a text for each zone, which is the same for zones that mean the same.
func (a *App) zoneDefinitions() map[string]string {
	a.mu.Lock()
	defer a.mu.Unlock()
	texts := make(map[string]string, len(a.definitions))
	for name, d := range a.definitions {
		shared := struct {
			Zone      *Zone
			Algorithm *Algorithm
			Tiers     map[string]*Tier
		}{Zone: sharedDefinition(d.zone), Algorithm: a.defaults.Algorithm}
		if d.zone.Tier != nil {
			shared.Tiers = limitsOf(a.Tiers)
		}
		text, err := json.Marshal(shared)
		if err != nil {
			continue // it was unmarshalled from JSON, so it does not fail
		}
		texts[name] = string(text)
	}
	return texts
}

// sharedDefinition returns z without what nodes that count in it may say differently: which requests it is for, and how closely they
// keep to its limits, which is for each node to know.
func sharedDefinition(z *Zone) *Zone {
	c := *z
	c.MatcherSetsRaw, c.Mode, c.MaxOvershoot = nil, "", nil
	if z.Tier != nil {
		tier := *z.Tier
		tier.Tiers = limitsOf(tier.Tiers)
		c.Tier = &tier
	}
	c.Endpoints = make([]*Endpoint, len(z.Endpoints))
	for i, e := range z.Endpoints {
		own := *e
		own.Mode, own.MaxOvershoot, own.Tiers = "", nil, limitsOf(e.Tiers)
		maps.DeleteFunc(own.Tiers, func(_ string, t *Tier) bool { return t == nil })
		c.Endpoints[i] = &own
	}
	return &c
}

// limitsOf returns the tiers with nothing but their limits; those without one are nil.
func limitsOf(tiers map[string]*Tier) map[string]*Tier {
	limits := make(map[string]*Tier, len(tiers))
	for name, t := range tiers {
		if t.limited() {
			limits[name] = &Tier{Limit: t.Limit}
		} else {
			limits[name] = nil
		}
	}
	return limits
}
