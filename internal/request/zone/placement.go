package zone

import (
	"time"
)

// A placement is what decides which rule of its zone a request falls under.
type placement struct {
	endpoint int // its index
	tier     int // or withoutKey
	override *override
}

// withoutKey is the tier of requests that fall under endpointRules.withoutKey.
const withoutKey = -1

// configured returns the rule of endpoints at a placement without its override, or nil if there is
// none.
func (p *placement) configured(endpoints []endpointRules) *rule {
	e := &endpoints[p.endpoint]
	if p.tier == withoutKey {
		return e.withoutKey
	}
	return e.rules[p.tier]
}

// rule returns the rule of endpoints at a placement, or nil if there is none.
func (p *placement) rule(endpoints []endpointRules) *rule {
	r := p.configured(endpoints)
	if r != nil && p.override != nil {
		return p.override.applyTo(r)
	}
	return r
}

// findOverride sets the override of a key with these entries, nil for none, at a placement.
func (p *placement) findOverride(rules *zoneRules, entries *keyEntries, now time.Time) {
	p.override = nil
	if entries != nil {
		p.override = entries.overrideAt(now, rules.countedAt(p.endpoint, p.configured(rules.endpoints)))
	}
}
