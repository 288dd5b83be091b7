package fleetlimit

import (
	"cmp"

	"github.com/fleetlimit/fleetlimit/internal/adminapi"
	"github.com/fleetlimit/fleetlimit/rules"
)

// originsOf returns the limits for a tier at an endpoint of a zone, those of wider places first. The
// last is in force. tier is "" and e nil outside of tiers and endpoints. name is that of the endpoint,
// and shared are the tiers of the app. config is not in the syntax of caddy-ratelimit.
func originsOf(config *Zone, shared map[string]*Tier, changes *rules.Zone, tier string, e *Endpoint, name string) (
	origins []adminapi.Origin,
) {
	if changes == nil {
		changes = new(rules.Zone)
	}
	add := func(place string, configured *Limit, written string) {
		switch {
		case written != "":
			origins = append(origins, adminapi.Origin{Limit: written, Source: adminapi.FromRules, Place: place})
		case configured != nil && *configured != (Limit{}):
			origins = append(origins, adminapi.Origin{Limit: configured.String(), Source: adminapi.FromConfiguration, Place: place})
		}
	}
	add("zone", config.Limit, changes.Limit)
	if tier != "" {
		var own *Tier
		if config.Tier != nil {
			own = config.Tier.Tiers[tier]
		}
		if own.limited() || changes.Tiers[tier] != "" {
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
func limitOf(t *Tier) *Limit {
	if !t.limited() {
		return nil
	}
	return &t.Limit
}
