package inspect

import (
	"cmp"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/internal/request/zone"
	"github.com/fleetlimit/fleetlimit/rules"
)

// origins returns where the limit of a slot is from, without those of the key itself.
func (i *inspector) origins(s *zone.Slot) []api.Origin {
	settings, tier := i.zone.Settings(), s.Tier
	if s.Missing {
		if own := settings.OnMissingLimit; s.Limit == nil || *s.Written == *own {
			return []api.Origin{{Limit: own.String(), Source: api.FromConfiguration, Place: "missing key"}}
		}
		_, tier = i.zone.TierNames() // the endpoint has a lower limit, which stays
	}
	var configured *config.Endpoint
	if s.Endpoint != "" {
		configured = settings.Endpoints[s.Place]
	}
	changes := i.snapshot.Version.Document.Zones[i.zone.Name]
	return originsOf(settings, i.snapshot.Set().SharedTiers, changes, tier, configured, s.Endpoint)
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
