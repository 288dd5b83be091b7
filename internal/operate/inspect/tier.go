package inspect

import (
	"fmt"
	"slices"

	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/internal/request/zone"
)

// tier returns what decides the tier of the key, or nil if the key has none. asked is what the
// placeholder of requests would give, or "" if that is not known.
func (i *inspector) tier(asked string) (*api.DecidedBy, error) {
	tiers, fallback := i.zone.TierNames()
	switch {
	case len(tiers) == 0 && asked != "":
		return nil, fmt.Errorf("zone %q has no tiers: use a request without it", i.zone.Name)
	case len(tiers) == 0, i.withoutKey():
		return nil, nil
	case asked != "" && !slices.Contains(tiers, asked):
		return nil, fmt.Errorf("%q is not a tier of the zone: use one of %v", asked, tiers)
	}
	for _, a := range slices.Backward(i.snapshot.Version.Document.Tiers) {
		if i.entries[&a.Entry] {
			return &api.DecidedBy{Name: a.Tier, Source: api.FromRules, Entry: a.ID}, nil
		}
	}
	if tier := i.zone.TierByPattern(i.text()); tier != "" {
		return &api.DecidedBy{Name: tier, Source: api.FromKeys}, nil
	}
	switch placeholder := i.zone.TierPlaceholder(); {
	case asked != "":
		return &api.DecidedBy{Name: asked, Source: api.FromRequest}, nil
	case placeholder != nil:
		return &api.DecidedBy{Source: api.FromPlaceholder, Placeholder: "{" + placeholder.Name + "}"}, nil
	case fallback != "":
		return &api.DecidedBy{Name: fallback, Source: api.FromDefault}, nil
	}
	return nil, nil
}

// withoutKey reports whether requests of the key fall under the limit of those without one.
func (i *inspector) withoutKey() bool {
	_, limited := i.zone.MissingKey()
	return i.key.Missing && limited
}

// slots returns the slots that the key can be in if by decides its tier. If that is a placeholder,
// each request says which tier it has.
func (i *inspector) slots(by *api.DecidedBy) []zone.Slot {
	missing := i.withoutKey()
	return slices.DeleteFunc(i.snapshot.Slots(i.zone), func(s zone.Slot) bool {
		switch {
		case missing || s.Missing:
			return s.Missing != missing
		case by == nil:
			return s.Tier != ""
		}
		return by.Source != api.FromPlaceholder && s.Tier != by.Name
	})
}
