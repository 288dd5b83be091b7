package zone

import (
	"time"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/internal/request/response"
	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/limiter/concurrency"
)

// inFlightID returns the ID of a count of requests at once of an endpoint, whose name is place; ""
// is the rest of the zone.
func (b *ruleBuilder) inFlightID(place string) (uint32, error) {
	return b.set.ruleID(b.name, b.zone.Key, place, "concurrent", b.set.CountFormat)
}

// concurrent compiles the limits of requests at once of all tiers at an endpoint, whose name is
// place. countID is that of their counts of rates. They are nil if no tier has one. A tier with the
// limit of the zone there has the count of the zone.
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
		id, err := b.inFlightID(at)
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
// number: that of the endpoint for the tier, else of the endpoint, else of the zone for the tier,
// else of the zone. own reports that the endpoint sets it.
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
func (z *Zone) readConcurrent(r *Request, rules *zoneRules, places []int, entries *keyEntries, found *Reading) {
	for _, place := range places {
		var now time.Time
		if entries != nil {
			now = r.Time()
		}
		policy, _ := z.concurrentAt(rules, entries, now, place, found.tier)
		if policy == nil {
			continue
		}
		e := &rules.endpoints[place]
		c, known := Charge{
			Policy: policy, endpoint: place, own: policy.Concurrent.ID == e.inFlightID, counters: e.countersOf(found.tier),
			Wait: e.wait.forTurn,
		}, false
		for i := range found.Concurrent {
			known = known || found.Concurrent[i].Policy.Concurrent.ID == c.Policy.Concurrent.ID
		}
		if !known {
			found.Concurrent = append(found.Concurrent, c)
		}
	}
}

// concurrentAt returns the limit of requests at once of a key with these entries, nil for none, at
// an endpoint, and the override that it is from. Both are nil if there is none. Requests without a
// key have the limit of keys whose tier is unknown.
//
// An override of an endpoint gives that a count of its own. One of the whole zone changes all
// counts that there are, and makes one for the zone if there is none.
func (z *Zone) concurrentAt(rules *zoneRules, entries *keyEntries, now time.Time, place, tier int) (
	*response.Policy, *expiring[keyOverride],
) {
	if tier == withoutKey {
		tier = z.tiers.numbered("")
	}
	e := &rules.endpoints[place]
	var policy *response.Policy
	if e.concurrent != nil {
		policy = e.concurrent[tier]
	}
	if entries == nil || len(entries.overrides) == 0 {
		return policy, nil
	}
	o := entries.findOverride(now, place, (*override).changesConcurrent)
	if o == nil {
		return policy, nil
	}
	counted := e
	if o.value.endpoint < 0 && (policy == nil || policy.Concurrent.ID != e.inFlightID) {
		counted = &rules.endpoints[len(rules.endpoints)-1]
	}
	return o.value.concurrentPolicy(counted, tier, policy), o
}

// concurrentPolicy returns the limit of requests at once of the override, with the count of e. It
// is enforced as was, the limit that it changes, or as the rate of the tier if that is nil.
func (o *override) concurrentPolicy(e *endpointRules, tier int, was *response.Policy) *response.Policy {
	r := concurrency.Rule{ID: e.inFlightID, Limit: int64(o.concurrent)}
	switch {
	case was != nil:
		r.Strict, r.OnOutage = was.Concurrent.Strict, was.Concurrent.OnOutage
	case e.rules[tier] != nil:
		r.Strict, r.OnOutage = e.rules[tier].compiled.Strict, e.rules[tier].compiled.OnOutage
	}
	if p, found := o.inFlight.Load(r); found {
		return p.(*response.Policy)
	}
	p := response.NewConcurrentPolicy(o.builder.name, &r)
	p.CountID = e.id
	known, _ := o.inFlight.LoadOrStore(r, &p)
	return known.(*response.Policy)
}
