package zone

import (
	"cmp"
	"strconv"
	"time"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/internal/observe/usage"
	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/rules"
)

// Zone describes a zone.
func (s *Snapshot) Zone(name string) api.ZoneLimits {
	z, inForce := s.rulesOf(name)
	i := inspector{snapshot: s, zone: z, config: z.builder.zone}
	answer := api.ZoneLimits{Name: z.Name, Key: i.config.Key, Limits: []api.EndpointLimits{}, Adaptive: z.describeAdaptive()}
	described := -1 // the endpoint of the last element
	for s := range inForce.slots(z) {
		if !s.own {
			continue // the count is that of the zone
		}
		if s.at.endpoint != described {
			described = s.at.endpoint
			answer.Limits = append(answer.Limits, api.EndpointLimits{Endpoint: s.endpoint})
		}
		limits := &answer.Limits[len(answer.Limits)-1]
		limits.Tiers = append(limits.Tiers, i.describe(inForce, s))
	}
	if share := i.config.DryRun; share > 0 {
		answer.DryRun = config.FormatPercent(float64(share))
	}
	if inForce.compared != nil {
		answer.Compare = config.FormatPercent(inForce.compared.fraction)
	}
	if changes := s.Version.Document.Zones[z.Name]; changes != nil && changes.DryRun != "" {
		answer.DryRun = changes.DryRun
	}
	return answer
}

// Limits returns the limits in force of all zones, at each endpoint for each tier that keys can have.
// Those of single keys are not among them.
func (s *Snapshot) Limits() (all []usage.LimitInForce) {
	for _, name := range s.set.Zones() {
		z, inForce := s.rulesOf(name)
		for s := range inForce.slots(z) {
			if r := s.rule; !s.missing && r.limits() {
				all = append(all, usage.LimitInForce{
					Zone: name, Endpoint: s.endpoint, Tier: s.tier, Events: r.limit.Events, Window: time.Duration(r.limit.Window),
				})
			}
		}
	}
	return all
}

// describe returns the limit of a slot.
func (i *inspector) describe(inForce *zoneRules, s *slot) api.TierLimit {
	described := api.TierLimit{
		Tier: s.tier, Missing: s.missing, Limit: "unlimited", From: []api.Origin{}, Compared: inForce.compared.describe(s.at),
	}
	if r := s.rule; r != nil {
		described.Limit, described.Algorithm = r.limit.String(), algorithmText(r.compiled.Algorithm)
		described.From = i.origins(&inForce.endpoints[s.at.endpoint], s.at.endpoint, s.at.tier)
	}
	return described
}

// origins returns where the limits of a tier at a place are from, without those of the key itself.
func (i *inspector) origins(e *endpointRules, place, tier int) []api.Origin {
	if tier == withoutKey {
		if own := i.config.OnMissingLimit; e.withoutKey == nil || e.withoutKey.limit == *own {
			return []api.Origin{{Limit: own.String(), Source: api.FromConfiguration, Place: "missing key"}}
		}
		tier = i.zone.tiers.numbered("") // the endpoint has a lower limit, which stays
	}
	var configured *config.Endpoint
	if e.route != nil {
		configured = i.config.Endpoints[place]
	}
	changes := i.snapshot.Version.Document.Zones[i.zone.Name]
	return originsOf(i.config, i.snapshot.set.SharedTiers, changes, i.zone.tiers.name(tier), configured, e.name())
}

// describe returns the rule at a placement, or nil if there is none.
func (c *comparedRules) describe(at placement) *api.ComparedLimit {
	if c == nil {
		return nil
	}
	r := at.rule(c.endpoints)
	if r == nil {
		return nil
	}
	return &api.ComparedLimit{Limit: r.limit.String(), Algorithm: algorithmText(r.compiled.Algorithm)}
}

// algorithmText returns an algorithm in the syntax of the Caddyfile.
func algorithmText(a limiter.Algorithm) string {
	if a.SubWindows > 1 {
		return a.Kind.String() + " " + strconv.Itoa(a.SubWindows)
	}
	return a.Kind.String()
}

// originsOf returns the limits for a tier at an endpoint of a zone, those of wider places first.
// The last is in force. tier is "" and e nil outside of tiers and endpoints. name is that of the
// endpoint, and shared are the tiers of the app. settings are not in the syntax of caddy-ratelimit.
func originsOf(settings *config.Zone, shared map[string]*config.Tier, changes *rules.ZoneChange, tier string, e *config.Endpoint, name string) (
	origins []api.Origin,
) {
	if changes == nil {
		changes = new(rules.ZoneChange)
	}
	add := func(place string, configured *config.Limit, written string) {
		switch {
		case written != "":
			origins = append(origins, api.Origin{Limit: written, Source: api.FromRules, Place: place})
		case configured != nil && *configured != (config.Limit{}):
			origins = append(origins, api.Origin{Limit: configured.String(), Source: api.FromConfiguration, Place: place})
		}
	}
	add("zone", settings.Limit, changes.Limit)
	if tier != "" {
		var own *config.Tier
		if settings.Tier != nil {
			own = settings.Tier.Tiers[tier]
		}
		if own.Limited() || changes.Tiers[tier] != "" {
			add("tier", own.OwnLimit(), changes.Tiers[tier])
		} else {
			add("shared tier", shared[tier].OwnLimit(), "")
		}
	}
	if e == nil {
		return origins
	}
	changed := cmp.Or(changes.Endpoints[name], new(rules.Endpoint))
	add("endpoint", e.Limit, changed.Limit)
	if tier != "" {
		add("endpoint tier", e.Tiers[tier].OwnLimit(), changed.Tiers[tier])
	}
	return origins
}
