package fleetlimit

import (
	"cmp"
	"strconv"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/internal/adminapi"
	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/rules"
)

// Zone implements adminapi.Configuration.
func (a *runningApp) Zone(name string) adminapi.Zone {
	z := a.schema.zone(name)
	i := inspector{running: a, zone: z, config: a.definition(z.name)}
	answer := adminapi.Zone{Name: z.name, Key: i.config.Key, Limits: []adminapi.EndpointLimits{}}
	inForce := a.inForce.of(z)
	for place := range inForce.endpoints {
		e := &inForce.endpoints[place]
		described := adminapi.EndpointLimits{Endpoint: e.name(), Tiers: []adminapi.TierLimit{}}
		for number, r := range e.rules {
			if r == nil {
				continue
			}
			tier := ""
			if number != noTier {
				tier = z.tiers.names[number]
			}
			described.Tiers = append(described.Tiers, adminapi.TierLimit{
				Tier: tier, Limit: r.limit.String(), Algorithm: algorithmText(r.base.Algorithm), From: i.origins(e, place, tier),
				Compared: inForce.compared.describe(place, number),
			})
		}
		if len(described.Tiers) > 0 {
			answer.Limits = append(answer.Limits, described)
		}
	}
	if share := i.config.DryRun; share > 0 {
		answer.DryRun = config.FormatPercent(float64(share))
	}
	if inForce.compared != nil {
		answer.Compare = config.FormatPercent(inForce.compared.fraction)
	}
	if changes := a.inForce.version.Document.Zones[z.name]; changes != nil && changes.DryRun != "" {
		answer.DryRun = changes.DryRun
	}
	return answer
}

// describe returns the rule at a place of the zone for a tier, or nil if there is none.
func (c *comparedRules) describe(place, tier int) *adminapi.ComparedLimit {
	if c == nil || c.endpoints[place].rules[tier] == nil {
		return nil
	}
	r := c.endpoints[place].rules[tier]
	return &adminapi.ComparedLimit{Limit: r.limit.String(), Algorithm: algorithmText(r.base.Algorithm)}
}

// algorithmText returns an algorithm in the syntax of the Caddyfile.
func algorithmText(a limiter.Algorithm) string {
	if a.SubWindows > 1 {
		return a.Kind.String() + " " + strconv.Itoa(a.SubWindows)
	}
	return a.Kind.String()
}

// originsOf returns the limits for a tier at an endpoint of a zone, those of wider places first. The
// last is in force. tier is "" and e nil outside of tiers and endpoints. name is that of the endpoint,
// and shared are the tiers of the app. settings are not in the syntax of caddy-ratelimit.
func originsOf(settings *config.Zone, shared map[string]*config.Tier, changes *rules.Zone, tier string, e *config.Endpoint, name string) (
	origins []adminapi.Origin,
) {
	if changes == nil {
		changes = new(rules.Zone)
	}
	add := func(place string, configured *config.Limit, written string) {
		switch {
		case written != "":
			origins = append(origins, adminapi.Origin{Limit: written, Source: adminapi.FromRules, Place: place})
		case configured != nil && *configured != (config.Limit{}):
			origins = append(origins, adminapi.Origin{Limit: configured.String(), Source: adminapi.FromConfiguration, Place: place})
		}
	}
	add("zone", settings.Limit, changes.Limit)
	if tier != "" {
		var own *config.Tier
		if settings.Tier != nil {
			own = settings.Tier.Tiers[tier]
		}
		if own.Limited() || changes.Tiers[tier] != "" {
			add("tier", limitOf(own), changes.Tiers[tier])
		} else {
			add("shared tier", limitOf(shared[tier]), "")
		}
	}
	if e == nil {
		return origins
	}
	changed := cmp.Or(changes.Endpoints[name], new(rules.Endpoint))
	add("endpoint", e.Limit, changed.Limit)
	if tier != "" {
		add("endpoint tier", limitOf(e.Tiers[tier]), changed.Tiers[tier])
	}
	return origins
}

// limitOf returns the limit of a tier, nil if it has none.
func limitOf(t *config.Tier) *config.Limit {
	if !t.Limited() {
		return nil
	}
	return &t.Limit
}
