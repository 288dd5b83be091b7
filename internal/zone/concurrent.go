package zone

import (
	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/internal/adminapi"
	"github.com/fleetlimit/fleetlimit/internal/response"
	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/limiter/concurrency"
)

// concurrent compiles the limits of requests at once of all tiers at an endpoint, whose name is
// place; "" is the rest of the zone. countID is that of their counts of rates. They are nil if no tier has one. A tier with the limit of the
// zone there has the count of the zone.
func (b *ruleBuilder) concurrent(e *config.Endpoint, place string, countID uint32) ([]*response.Policy, error) {
	all, limited := make([]*response.Policy, b.tiers.rules()), false
	if b.compared {
		return nil, nil
	}
	for tier := range all {
		limit, own := b.inheritConcurrent(e, tier)
		if limit == 0 {
			continue
		}
		at := ""
		if own {
			at = place
		}
		id, err := b.set.ruleID(b.name, b.zone.Key, at, "concurrent", b.set.CountFormat)
		if err != nil {
			return nil, err
		}
		_, enforcement := b.inherit(e, tier)
		var settings limiter.Rule
		if err := enforcement.Apply(&settings); err != nil {
			return nil, err
		}
		p := response.NewConcurrentPolicy(b.name, &concurrency.Rule{
			ID: id, Limit: int64(limit), Strict: settings.Strict, OnOutage: settings.OnOutage,
		})
		p.CountID = countID
		all[tier], limited = &p, true
	}
	if !limited {
		return nil, nil
	}
	return all, nil
}

// inheritConcurrent returns how many requests at once a tier may have at an endpoint, 0 for any
// number: that of the endpoint for the tier, else of the endpoint, else of the zone for the tier, else
// of the zone. own reports that the endpoint sets it.
func (b *ruleBuilder) inheritConcurrent(e *config.Endpoint, tier int) (limit int, own bool) {
	limit = b.zone.Concurrent
	if tier != noTier {
		if n := b.tiers.tiers[tier].Concurrent; n > 0 {
			limit = n
		}
	}
	if e.Concurrent > 0 {
		limit, own = e.Concurrent, true
	}
	if tier != noTier {
		if t := e.Tiers[b.tiers.names[tier]]; t != nil && t.Concurrent > 0 {
			limit, own = t.Concurrent, true
		}
	}
	return limit, own
}

// readConcurrent finds the limits of requests at once at the endpoints with the indices places.
// Requests without a key have those of keys whose tier is unknown.
func (z *Zone) readConcurrent(r *Request, rules *zoneRules, places []int, found *Reading) {
	found.Concurrent = r.concurrent[:0]
	tier := found.tier
	if tier == withoutKey {
		tier = z.tiers.ofUnknown()
	}
	for _, place := range places {
		limits := rules.endpoints[place].concurrent
		if limits == nil || limits[tier] == nil {
			continue
		}
		c, known := Charge{Policy: limits[tier], endpoint: place, counters: rules.endpoints[place].countersOf(found.tier),
			Wait: rules.endpoints[place].wait.forTurn}, false
		for i := range found.Concurrent {
			known = known || found.Concurrent[i].Policy.Concurrent.ID == c.Policy.Concurrent.ID
		}
		if !known {
			found.Concurrent = append(found.Concurrent, c)
		}
	}
}

// concurrent returns how many requests of the key are in flight at a place of the zone, if it has a
// tier. What counts in the rest of the zone is listed there, unless all is wanted.
func (i *inspector) concurrent(inForce *zoneRules, place, tier int, all bool) (counts []adminapi.InspectedConcurrent) {
	number := tier
	if tier == withoutKey {
		number = i.zone.tiers.ofUnknown()
	}
	r := inForce.endpoints[place].concurrentRule(number)
	if r == nil || !all && inForce.countsInRest(place, number) {
		return nil
	}
	for _, key := range i.keys {
		c := adminapi.InspectedConcurrent{
			Endpoint: inForce.endpoints[place].name(), Tier: i.zone.tiers.name(tier), Limit: r.Limit,
		}
		c.InFlight, c.Leased = i.store.InFlight(i.now, r, key)
		counts = append(counts, c)
	}
	return counts
}

// concurrentRule returns the limit of requests at once of a tier, nil if there is none.
func (e *endpointRules) concurrentRule(tier int) *concurrency.Rule {
	if e.concurrent == nil || e.concurrent[tier] == nil {
		return nil
	}
	return e.concurrent[tier].Concurrent
}

// countsInRest reports whether requests at once of a tier at an endpoint are counted in the rest of
// the zone.
func (c *zoneRules) countsInRest(place, tier int) bool {
	last := len(c.endpoints) - 1
	at, rest := c.endpoints[place].concurrentRule(tier), c.endpoints[last].concurrentRule(tier)
	return place != last && at != nil && rest != nil && at.ID == rest.ID
}

// ofUnknown returns the tier of keys whose tier is unknown.
func (f *tierFinder) ofUnknown() int {
	if f == nil {
		return noTier
	}
	return f.fallback
}
