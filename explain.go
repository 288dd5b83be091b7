package fleetlimit

import (
	"cmp"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/internal/adminapi"
	"github.com/fleetlimit/fleetlimit/rules"
)

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
