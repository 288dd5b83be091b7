package fleetlimit

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// A endpointRules is what one endpoint of a zone, or the rest of it, allows.
type endpointRules struct {
	route *route  // nil: every request
	rules []*rule // by tier; the first is for keys without a tier
	cost  cost
}

// empty reports whether p limits nobody.
func (p *endpointRules) empty() bool { return slices.Equal(p.rules, make([]*rule, len(p.rules))) }

// ruleBuilder resolves what an endpoint takes from its zone.
type ruleBuilder struct {
	zone                string
	handle              limiter.Zone
	key                 string
	maxKeys             int
	app                 *App
	limit               *Limit
	algorithm           *Algorithm
	cost                *Cost
	tiers               *tierFinder
	zoneConsistency     consistency      // the zone's
	endpointConsistency consistency      // what the endpoint says of it, which comes before those of the zone's tiers
	own                 map[string]*Tier // what the endpoint says of tiers
	hasOwn              bool             // the endpoint has a limit of its own, which comes before those of the zone's tiers
}

// endpoint compiles an endpoint of the zone.
func (z *ruleBuilder) endpoint(e *Endpoint) (*endpointRules, error) {
	r, err := newRoute(e.Methods, e.Path)
	if err != nil {
		return nil, err
	}
	own := *z
	own.own, own.endpointConsistency = e.Tiers, consistency{e.Mode, e.MaxOvershoot}
	if err := own.endpointConsistency.validate(); err != nil {
		return nil, err
	}
	if e.Limit != nil {
		own.limit, own.hasOwn = e.Limit, true
	}
	if e.Algorithm != nil {
		own.algorithm = e.Algorithm
	}
	if e.Cost != nil {
		own.cost = e.Cost
	}
	if len(e.Tiers) > 0 && z.tiers == nil {
		return nil, fmt.Errorf("has limits for tiers, but its zone has no tiers: add `tier` to the zone")
	}
	for name, tier := range e.Tiers {
		if _, found := z.tiers.index[name]; !found {
			return nil, fmt.Errorf("tier %q is not one of the zone's: add it there", name)
		}
		if tier == nil || *tier == (Tier{}) {
			return nil, fmt.Errorf("tier %q says nothing: say its limit at this endpoint, or remove it", name)
		}
		if err := tier.consistency().validate(); err != nil {
			return nil, fmt.Errorf("tier %q: %w", name, err)
		}
	}
	return own.build(r)
}

// build makes the rule of each tier for the requests of a route; nil is the rest of the zone.
func (z *ruleBuilder) build(r *route) (*endpointRules, error) {
	algorithm, err := z.algorithm.compile()
	if err != nil {
		return nil, err
	}
	p := &endpointRules{route: r, rules: make([]*rule, z.tiers.count())}
	if p.cost, err = newCost(z.cost); err != nil {
		return nil, err
	}
	path := ""
	if r != nil {
		path = r.String()
	}
	id, err := z.app.ruleID(z.zone, z.key, path, algorithm.Kind.String(), strconv.Itoa(algorithm.SubWindows))
	if err != nil {
		return nil, err
	}
	for tier := range p.rules {
		limit := z.limitOf(tier)
		if limit == nil {
			continue
		}
		e := z.consistencyOf(tier)
		base := limiter.Rule{
			ID: id, Zone: z.handle, MaxKeys: z.maxKeys, Algorithm: algorithm, Strict: e.strict(), MaxOvershoot: e.overshoot(),
		}
		if p.rules[tier], err = newRule(z.zone, base, limit); err == nil {
			err = z.app.fits(p.rules[tier])
		}
		if err == nil {
			err = p.cost.fits(p.rules[tier])
		}
		if err != nil {
			if tier != noTier {
				err = fmt.Errorf("tier %q: %w", z.tiers.names[tier], err)
			}
			return nil, err
		}
	}
	return p, nil
}

// limitOf returns the limit of a tier: the endpoint's for the tier, else the endpoint's, else the zone's for the tier, else
// the zone's.
func (z *ruleBuilder) limitOf(tier int) *Limit {
	if tier == noTier {
		return z.limit
	}
	if own := z.own[z.tiers.names[tier]]; own.limited() {
		return &own.Limit
	}
	if z.hasOwn {
		return z.limit
	}
	return &z.tiers.tiers[tier].Limit
}

// consistencyOf returns how closely the limit of a tier is kept to. Where the limit is from does not matter to that: each
// place says what it says over all limits below it.
func (z *ruleBuilder) consistencyOf(tier int) consistency {
	if tier == noTier {
		return z.endpointConsistency.over(z.zoneConsistency)
	}
	ofTier := z.tiers.tiers[tier].consistency().over(z.zoneConsistency)
	return z.own[z.tiers.names[tier]].consistency().over(z.endpointConsistency.over(ofTier))
}

// compileEndpoints compiles the endpoints and the rest of the zone.
func compileEndpoints(name string, config *Zone, tiers *tierFinder, app *App, handle limiter.Zone) ([]endpointRules, error) {
	ofZone := &ruleBuilder{
		zone: name, handle: handle, key: config.Key, maxKeys: config.MaxKeys, app: app,
		limit: config.Limit, algorithm: config.Algorithm, cost: config.Cost, tiers: tiers,
	}
	ofZone.zoneConsistency = consistency{config.Mode, config.MaxOvershoot}
	if err := ofZone.zoneConsistency.validate(); err != nil {
		return nil, err
	}
	ofZone.zoneConsistency = ofZone.zoneConsistency.over(app.defaults.consistency())
	if ofZone.algorithm == nil {
		ofZone.algorithm = app.defaults.Algorithm
	}
	var policies []endpointRules
	seen := make(map[string]bool)
	for i, e := range config.Endpoints {
		if e == nil {
			return nil, fmt.Errorf("endpoint %d is empty: it needs at least a path", i+1)
		}
		p, err := ofZone.endpoint(e)
		if err != nil {
			return nil, fmt.Errorf("endpoint %d (%s): %w", i+1, e.Path, err)
		}
		if id := p.route.String(); seen[id] {
			return nil, fmt.Errorf("endpoint %d (%s) is there already: remove one of the two", i+1, id)
		} else {
			seen[id] = true
		}
		if p.empty() {
			return nil, fmt.Errorf("endpoint %d (%s) has no limit: say one, here or in the zone", i+1, e.Path)
		}
		policies = append(policies, *p)
	}
	rest, err := ofZone.build(nil)
	if err != nil {
		return nil, err
	}
	if rest.rules[noTier] == nil && tiers != nil && tiers.fallback == noTier {
		return nil, fmt.Errorf("keys without a tier have no limit: say `limit`, or `default` in `tier`")
	}
	if len(policies) == 0 && rest.empty() {
		return nil, fmt.Errorf("has no limit: say one, such as `limit 100/1m`")
	}
	return append(policies, *rest), nil
}
