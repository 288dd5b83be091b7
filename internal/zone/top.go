package zone

import (
	"encoding/base64"
	"math"
	"time"

	"github.com/caddyserver/caddy/v2"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/internal/adminapi"
	"github.com/fleetlimit/fleetlimit/internal/keytable"
	"github.com/fleetlimit/fleetlimit/limiter"
)

// Top returns the keys that use a zone most, at an endpoint or, if that is "", in all of the zone. by
// is what find finds them by: the most keys of a query.
func (s *Snapshot) Top(zone, endpoint string, most int, by string, find func(time.Time, *limiter.TopQuery) []limiter.KeyUse) *adminapi.Top {
	z, inForce := s.rulesOf(zone)
	now := time.Now()
	counted := newCountedRules(z, inForce, endpoint, now)
	found := find(now, &limiter.TopQuery{Zone: z.builder.handle, Most: most, Rules: counted.of})
	answer := &adminapi.Top{Zone: z.Name, By: by, Keys: []adminapi.TopKey{}}
	for i := range found {
		answer.Keys = append(answer.Keys, counted.describe(&found[i], by))
	}
	return answer
}

// countedRules are the rules of the counts of a zone.
type countedRules struct {
	zone *Zone
	keys keytable.Table[keyEntries]
	now  time.Time
	byID map[uint32]*countedPlace
}

// A countedPlace is where in a zone counts with one ID are.
type countedPlace struct {
	place    int // index of the endpoint; -1: there are several
	endpoint string
	rules    []*rule         // the likeliest first
	compiled []*limiter.Rule // those of rules that limit something
}

// newCountedRules returns the rules of an endpoint, or of all of the zone.
func newCountedRules(z *Zone, inForce *zoneRules, endpoint string, now time.Time) *countedRules {
	c := &countedRules{zone: z, keys: inForce.keys, now: now, byID: make(map[uint32]*countedPlace)}
	for i := range inForce.endpoints {
		e := &inForce.endpoints[i]
		if endpoint != "" && e.name() != endpoint {
			continue
		}
		rules := e.all()
		if z.tiers != nil {
			rules = append([]*rule{e.rules[z.tiers.fallback]}, rules...)
		}
		for _, r := range rules {
			if endpoint != "" || inForce.countedAt(i, r) == i {
				c.add(i, e.name(), r)
			}
		}
	}
	return c
}

func (c *countedRules) add(place int, endpoint string, r *rule) {
	if r == nil {
		return
	}
	p := c.byID[r.base.ID]
	switch {
	case p == nil:
		p = &countedPlace{place: place, endpoint: endpoint}
		c.byID[r.base.ID] = p
	case p.place != place: // that of requests without a key
		p.place, p.endpoint = -1, ""
	}
	p.rules = append(p.rules, r)
	if r.Rule != nil {
		p.compiled = append(p.compiled, r.Rule)
	}
}

// of is limiter.TopQuery.Rules.
func (c *countedRules) of(id uint32, key []byte) []*limiter.Rule {
	p := c.byID[id]
	if p == nil {
		return nil
	}
	entries := c.keys.Of(key)
	if entries == nil {
		return p.compiled
	}
	o := entries.overrideAt(c.now, p.place)
	if o == nil {
		return p.compiled
	}
	var changed []*limiter.Rule
	for _, r := range p.rules {
		if r := o.of(r); r.Rule != nil {
			changed = append(changed, r.Rule)
		}
	}
	return changed
}

// describe returns a key as operators read it.
func (c *countedRules) describe(k *limiter.KeyUse, by string) adminapi.TopKey {
	limit := config.Limit{Events: k.Rule.Limit.Events, Window: caddy.Duration(k.Rule.Limit.Window), Burst: k.Rule.Limit.Burst}
	answer := adminapi.TopKey{
		Endpoint: c.byID[k.Rule.ID].endpoint, Limit: limit.String(),
		Denied: k.RetryAt != 0, RetryAt: instantAt(k.RetryAt, k.At, c.now),
	}
	name, exact := c.zone.nameOf(k.Key)
	answer.Key, answer.Base64, answer.Missing = name.Text, name.Base64, name.Missing
	if !exact {
		answer.Stored = base64.StdEncoding.EncodeToString(k.Key)
	}
	if by == adminapi.ByConsumed {
		consumed := int64(k.Use)
		answer.Consumed = &consumed
	} else {
		demand := math.Round(k.Use*100) / 100
		answer.Demand = &demand
	}
	return answer
}
