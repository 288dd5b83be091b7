package zone

import (
	"cmp"
	"errors"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/limiter"
)

// comparedRules are what the rules of a zone would be with another limit or algorithm. They decide
// beside those in force, for some keys, and reject no request. nil has none.
type comparedRules struct {
	fraction  float64 // of the keys
	keys      KeyShare
	endpoints []endpointRules // as those in force; a rule is nil where it would decide as that in force
}

// all returns the compared endpoints.
func (c *comparedRules) all() []endpointRules {
	if c == nil {
		return nil
	}
	return c.endpoints
}

// limits reports whether r is a rule that limits anything.
func (r *rule) limits() bool { return r != nil && !r.Unlimited() }

// decidesAs reports whether two rules have the same limit and algorithm. nil limits nothing.
func (r *rule) decidesAs(other *rule) bool {
	switch {
	case !r.limits() || !other.limits():
		return r.limits() == other.limits()
	case r.Block || other.Block:
		return r.Block == other.Block
	}
	return r.Algorithm == other.Algorithm && r.Capacity() == other.Capacity() && r.Limit.Events == other.Limit.Events &&
		r.Limit.Window == other.Limit.Window
}

// ifDiffers returns r, or nil if it decides as other.
func (r *rule) ifDiffers(other *rule) *rule {
	if r.decidesAs(other) {
		return nil
	}
	return r
}

// withBurstFor returns l, without its burst if the algorithm has none.
func withBurstFor(a limiter.Algorithm, l *config.Limit) *config.Limit {
	if l.Burst == 0 || a.Kind.Refills() {
		return l
	}
	without := *l
	without.Burst = 0
	return &without
}

// compare compiles what the zone compares inForce with. It is nil if that would decide as inForce.
func (b *ruleBuilder) compare(inForce *zoneRules) (*comparedRules, error) {
	settings := b.zone.Compare
	if settings == nil {
		return nil, nil
	}
	if err := settings.Check(); err != nil {
		return nil, err
	}
	c := b.copy(nil)
	c.compared, c.earlier = true, b.earlier
	c.zone.Limit = cmp.Or(settings.Limit, c.zone.Limit)
	c.zone.Algorithm = cmp.Or(settings.Algorithm, c.zone.Algorithm)
	if settings.Limit != nil && settings.Limit.Burst > 0 { // that of another place may be left out
		base, err := c.base(nil, c.zone.Key, "")
		if err == nil {
			_, err = newCountedRule(base, settings.Limit)
		}
		if err != nil {
			return nil, err
		}
	}
	endpoints, err := c.endpoints()
	if err != nil {
		return nil, err
	}
	differs := false
	for i := range endpoints {
		compared, e := &endpoints[i], &inForce.endpoints[i]
		for tier, r := range compared.rules {
			compared.rules[tier] = r.ifDiffers(e.rules[tier])
		}
		compared.withoutKey = compared.withoutKey.ifDiffers(e.withoutKey)
		differs = differs || len(compared.all()) > 0
	}
	if !differs {
		return nil, nil
	}
	fraction := 1.0
	if settings.Keys != nil {
		fraction = float64(*settings.Keys)
	}
	return &comparedRules{fraction, NewKeyShare(fraction, b.name+" compare"), endpoints}, nil
}

// compareWarnings returns what is probably a mistake in the comparison that settings have.
func (z *Zone) compareWarnings(settings *config.Zone) []error {
	if settings.Compare == nil || z.configured.compared != nil {
		return nil
	}
	return []error{errors.New("compare makes no difference, because the zone has the same limit and algorithm, or its tiers " +
		"and endpoints have their own: use another limit or algorithm in it")}
}
