package rules

import (
	"cmp"
	"maps"
)

// A Patch changes one document into another. The patch between documents that share most entries is
// small.
type Patch struct {
	Zones     map[string]*ZoneChange    `json:"zones,omitempty"` // a removed zone is nil
	Overrides []Splice[*Override]       `json:"overrides,omitempty"`
	Tiers     []Splice[*TierAssignment] `json:"tiers,omitempty"`
	Access    []Splice[*AccessEntry]    `json:"access,omitempty"`
	Emergency *EmergencyPatch           `json:"emergency,omitempty"` // nil if it stays
}

// An EmergencyPatch replaces the emergency.
type EmergencyPatch struct {
	To *Emergency `json:"to"` // nil if it ends
}

// NewPatch returns the patch that changes from into to. It has only zones and entries that the two
// do not share.
func NewPatch(from, to *Document) *Patch {
	p := &Patch{
		Zones:     make(map[string]*ZoneChange),
		Overrides: Splices(from.Overrides, to.Overrides),
		Tiers:     Splices(from.Tiers, to.Tiers),
		Access:    Splices(from.Access, to.Access),
	}
	for name, z := range to.Zones {
		if known, found := from.Zones[name]; !found || known != z {
			p.Zones[name] = z
		}
	}
	for name := range from.Zones {
		if _, found := to.Zones[name]; !found {
			p.Zones[name] = nil
		}
	}
	if from.Emergency != to.Emergency {
		p.Emergency = &EmergencyPatch{to.Emergency}
	}
	return p
}

// Parts returns the parts of the document from that p replaces, and the parts that replace them.
func (p *Patch) Parts(from *Document) (before, after *Document) {
	before, after = &Document{Zones: maps.Clone(from.Zones)}, &Document{Zones: maps.Clone(p.Zones)}
	maps.DeleteFunc(before.Zones, func(name string, _ *ZoneChange) bool { _, is := p.Zones[name]; return !is })
	maps.DeleteFunc(after.Zones, func(_ string, z *ZoneChange) bool { return z == nil })
	before.Overrides, after.Overrides = replaced(from.Overrides, p.Overrides)
	before.Tiers, after.Tiers = replaced(from.Tiers, p.Tiers)
	before.Access, after.Access = replaced(from.Access, p.Access)
	if p.Emergency != nil {
		before.Emergency, after.Emergency = from.Emergency, p.Emergency.To
	}
	return before, after
}

// Entries returns how many entries and zones p has.
func (p *Patch) Entries() int {
	return len(p.Zones) + len(inserted(p.Overrides)) + len(inserted(p.Tiers)) + len(inserted(p.Access))
}

// Apply returns d after the patch. The result shares with d what the patch does not change.
func (p *Patch) Apply(d *Document) (*Document, error) {
	changed := &Document{Zones: d.Zones, Emergency: d.Emergency}
	if len(p.Zones) > 0 {
		changed.Zones = make(map[string]*ZoneChange)
		maps.Copy(changed.Zones, d.Zones)
		maps.Copy(changed.Zones, p.Zones)
		maps.DeleteFunc(changed.Zones, func(_ string, z *ZoneChange) bool { return z == nil })
		if len(changed.Zones) == 0 {
			changed.Zones = nil
		}
	}
	var errs [3]error
	changed.Overrides, errs[0] = spliced("overrides", d.Overrides, p.Overrides)
	changed.Tiers, errs[1] = spliced("tiers", d.Tiers, p.Tiers)
	changed.Access, errs[2] = spliced("access", d.Access, p.Access)
	if p.Emergency != nil {
		changed.Emergency = p.Emergency.To
	}
	if err := cmp.Or(errs[:]...); err != nil {
		return nil, err
	}
	return changed, nil
}
