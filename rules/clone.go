package rules

import (
	"maps"
	"slices"
)

// Clone returns a deep copy of d. The copy of nil is an empty document.
func (d *Document) Clone() *Document {
	if d == nil {
		return new(Document)
	}
	c := *d
	c.Zones = cloneMap(d.Zones, (*Zone).clone)
	c.Overrides = cloneSlice(d.Overrides, func(o *Override) *Override {
		n := *o
		n.ExpiresAt = clonePointer(o.ExpiresAt)
		return &n
	})
	c.Tiers = cloneSlice(d.Tiers, func(t *TierAssignment) *TierAssignment {
		n := *t
		n.ExpiresAt = clonePointer(t.ExpiresAt)
		return &n
	})
	c.Access = cloneSlice(d.Access, func(a *AccessEntry) *AccessEntry {
		n := *a
		n.ExpiresAt, n.Key = clonePointer(a.ExpiresAt), clonePointer(a.Key)
		return &n
	})
	if c.Emergency = clonePointer(d.Emergency); c.Emergency != nil {
		c.Emergency.ExpiresAt = clonePointer(d.Emergency.ExpiresAt)
	}
	return &c
}

func (z *Zone) clone() *Zone {
	c := *z
	c.Tiers, c.Compare = maps.Clone(z.Tiers), clonePointer(z.Compare)
	c.Endpoints = cloneMap(z.Endpoints, func(e *Endpoint) *Endpoint {
		return &Endpoint{Limit: e.Limit, Tiers: maps.Clone(e.Tiers)}
	})
	return &c
}

func clonePointer[T any](p *T) *T {
	if p == nil {
		return nil
	}
	c := *p
	return &c
}

// cloneSlice clones the elements that are not nil.
func cloneSlice[T any](list []*T, clone func(*T) *T) []*T {
	list = slices.Clone(list)
	for i, element := range list {
		if element != nil {
			list[i] = clone(element)
		}
	}
	return list
}

// cloneMap clones the values that are not nil.
func cloneMap[T any](all map[string]*T, clone func(*T) *T) map[string]*T {
	all = maps.Clone(all)
	for name, value := range all {
		if value != nil {
			all[name] = clone(value)
		}
	}
	return all
}
