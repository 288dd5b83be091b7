package zone

import (
	"fmt"
	"slices"

	"github.com/fleetlimit/fleetlimit/internal/api"
)

// tier returns what decides the tier of the key, or nil if the key has none. asked is what the placeholder
// of requests would give, or "" if that is not known.
func (i *inspector) tier(asked string) (*api.DecidedBy, error) {
	f := i.zone.tiers
	switch {
	case f == nil && asked != "":
		return nil, fmt.Errorf("zone %q has no tiers: use a request without it", i.zone.Name)
	case f == nil, i.withoutKey():
		return nil, nil
	case asked != "":
		if _, err := f.named(asked); err != nil {
			return nil, err
		}
	}
	for _, a := range slices.Backward(i.snapshot.Version.Document.Tiers) {
		if i.entries[&a.Entry] {
			return &api.DecidedBy{Name: a.Tier, Source: api.FromRules, Entry: a.ID}, nil
		}
	}
	if tier := f.ofPattern(i.text()); tier != noTier {
		return &api.DecidedBy{Name: f.names[tier], Source: api.FromKeys}, nil
	}
	switch {
	case asked != "":
		return &api.DecidedBy{Name: asked, Source: api.FromRequest}, nil
	case f.placeholder != nil:
		return &api.DecidedBy{Source: api.FromPlaceholder, Placeholder: "{" + f.placeholder.Name + "}"}, nil
	case f.fallback != noTier:
		return &api.DecidedBy{Name: f.names[f.fallback], Source: api.FromDefault}, nil
	}
	return nil, nil
}

// withoutKey reports whether requests of the key fall under the limit of those without one.
func (i *inspector) withoutKey() bool { return i.key.Missing && i.zone.missing.limited }

// possibleTiers returns the tiers that the key can have if by decides. If that is a placeholder,
// each request says which of them it has.
func (i *inspector) possibleTiers(by *api.DecidedBy) []int {
	f := i.zone.tiers
	switch {
	case i.withoutKey():
		return []int{withoutKey}
	case by == nil:
		return []int{noTier}
	case by.Source != api.FromPlaceholder:
		return []int{slices.Index(f.names, by.Name)}
	}
	return f.all()
}
