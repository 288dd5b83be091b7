package config

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/fleetlimit/fleetlimit/internal/text/spelling"
)

// IsUse reports whether z, a zone of a handler, defines nothing and so uses the app's zone of that
// name.
func (z *Zone) IsUse() bool {
	return z == nil || z.Key == "" && z.Limit == nil && z.Definition() == "{}"
}

// DefinitionFor returns the definition of use, a handler's zone of that name. It is use itself or,
// if use defines nothing, the zone of that name in z. The matchers, the dry run and the comparison
// of use then replace those of that zone.
func (z Zones) DefinitionFor(name string, use *Zone) (*Zone, error) {
	if !use.IsUse() {
		return use, nil
	}
	shared := z[name]
	if shared == nil {
		other := ""
		if nearest := spelling.Nearest(name, slices.Collect(maps.Keys(z))); nearest != "" {
			other = "did you mean " + nearest + "? Or "
		}
		return nil, fmt.Errorf("is not defined: %suse a block with `key` and `limit`, which opens on the line of the name, "+
			"here or in the global option rate_limit", other)
	}
	used := *shared
	if use != nil {
		used.DryRun = cmp.Or(use.DryRun, used.DryRun)
		used.Compare = cmp.Or(use.Compare, used.Compare)
		if len(use.MatcherSetsRaw) > 0 {
			used.MatcherSetsRaw = use.MatcherSetsRaw
		}
	}
	return &used, nil
}

// CanShareCounts reports whether two zones of one name may share their counts: their definitions
// are equal, or both are in the syntax of caddy-ratelimit, which shares counts anyway.
func (z *Zone) CanShareCounts(other *Zone) bool {
	return z.Legacy() && other.Legacy() || z.Definition() == other.Definition()
}

// Definition returns a text that is equal for zones that differ only in their matchers, dry runs,
// comparisons and places.
func (z *Zone) Definition() string {
	c := *z
	c.MatcherSetsRaw, c.DryRun, c.Compare, c.Place = nil, 0, nil, ""
	text, _ := json.Marshal(c) // it was unmarshalled from JSON
	return string(text)
}

// FleetDefinition returns the settings of a zone in which nodes must agree: their texts by the
// names that they have in JSON. Nodes may differ in `mode` and `on_outage`, and in what Definition
// leaves out. The default algorithm and the limits of the app's tiers are filled in.
func (a *App) FleetDefinition(z *Zone) map[string]string {
	c := *z
	c.Enforcement = Enforcement{}
	c.Algorithm = cmp.Or(z.Algorithm, a.DefaultSettings().Algorithm)
	if z.Tier != nil {
		tier := *z.Tier
		tier.Tiers = limitsOf(tier.Tiers, a.Tiers)
		c.Tier = &tier
	}
	c.Endpoints = make([]*Endpoint, len(z.Endpoints))
	for i, e := range z.Endpoints {
		own := *e
		own.Enforcement, own.Tiers = Enforcement{}, limitsOf(e.Tiers, nil)
		c.Endpoints[i] = &own
	}
	var members map[string]json.RawMessage
	_ = json.Unmarshal([]byte(c.Definition()), &members) // it was marshalled just now
	settings := make(map[string]string, len(members))
	for name, text := range members {
		settings[name] = string(text)
	}
	return settings
}

// limitsOf returns tiers with nothing but their limits and numbers of requests at once. A tier
// without a limit has the limit of the tier in shared.
func limitsOf(tiers, shared map[string]*Tier) map[string]*Tier {
	limits := make(map[string]*Tier)
	for name, t := range tiers {
		if t = t.WithLimitOf(shared[name]); t.Limited() || t != nil && t.Concurrent > 0 {
			limits[name] = &Tier{Limit: t.Limit, Concurrent: t.Concurrent}
		}
	}
	return limits
}

// SameAs reports whether two zones have the same settings, apart from their places.
func (z *Zone) SameAs(other *Zone) bool {
	if z == nil || other == nil {
		return z == other
	}
	moved := *z
	moved.Place = other.Place
	return reflect.DeepEqual(&moved, other)
}
