package rules

import (
	"maps"
	"slices"
)

// Clone returns a copy of d, which shares the zones, the entries and the emergency of d: a change
// replaces them. The copy of nil is an empty document.
func (d *Document) Clone() *Document {
	if d == nil {
		return new(Document)
	}
	return &Document{
		Zones: maps.Clone(d.Zones), Overrides: slices.Clone(d.Overrides), Tiers: slices.Clone(d.Tiers),
		Access: slices.Clone(d.Access), Emergency: d.Emergency,
	}
}
