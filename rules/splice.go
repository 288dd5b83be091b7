package rules

import (
	"errors"
	"fmt"
)

// A Splice replaces entries of a list by others.
type Splice[E any] struct {
	At     int `json:"at"` // index of the first replaced entry, in the list before any change
	Remove int `json:"remove,omitempty"`
	Insert []E `json:"insert,omitempty"`
}

// Splices returns the splices that change from into to, in the order of their places. It compares
// entries by their addresses, because documents of one history share entries that have not changed.
// An entry that has moved is replaced.
func Splices[E comparable](from, to []E) (all []Splice[E]) {
	before := 0 // how many entries at the beginning are the same
	for before < min(len(from), len(to)) && from[before] == to[before] {
		before++
	}
	from, to = from[before:], to[before:]
	for len(from) > 0 && len(to) > 0 && from[len(from)-1] == to[len(to)-1] {
		from, to = from[:len(from)-1], to[:len(to)-1]
	}
	places := make(map[E]int)
	if len(to) > 0 {
		for i, e := range from {
			places[e] = i
		}
	}
	next, first := 0, 0 // indexes in from and to of the first entries that are not handled yet
	splice := func(until, inserted int) {
		if until > next || inserted > first {
			all = append(all, Splice[E]{before + next, until - next, to[first:inserted:inserted]})
		}
	}
	for i, e := range to {
		if place, kept := places[e]; kept && place >= next {
			splice(place, i)
			next, first = place+1, i+1
		}
	}
	splice(len(from), len(to))
	return all
}

var errNoSuchPlace = errors.New("rules: a change of a list does not fit it")

// spliced returns a list after changes. It returns nil if the list is empty then. name is the name
// of the list in errors.
func spliced[E any](name string, list []E, changes []Splice[E]) ([]E, error) {
	if len(changes) == 0 {
		return list, nil
	}
	length, next := len(list), 0
	for _, s := range changes {
		if s.At < next || s.Remove < 0 || s.Remove > len(list)-s.At {
			return nil, fmt.Errorf("%w: %d %s at %d of %d", errNoSuchPlace, s.Remove, name, s.At, len(list))
		}
		length += len(s.Insert) - s.Remove
		next = s.At + s.Remove
	}
	if length == 0 {
		return nil, nil
	}
	changed, next := make([]E, 0, length), 0
	for _, s := range changes {
		changed = append(append(changed, list[next:s.At]...), s.Insert...)
		next = s.At + s.Remove
	}
	return append(changed, list[next:]...), nil
}

// replaced returns the entries of list that changes remove, and those that they insert.
func replaced[E any](list []E, changes []Splice[E]) (removed, inserted []E) {
	for _, s := range changes {
		removed, inserted = append(removed, list[s.At:s.At+s.Remove]...), append(inserted, s.Insert...)
	}
	return removed, inserted
}

// removed returns the entries of list that changes remove, by their ID.
func removed[E ListEntry](list []E, changes []Splice[E]) map[string]E {
	gone, _ := replaced(list, changes)
	return byID(gone)
}

// inserted returns the places of the entries that changes insert, in the list after the changes.
func inserted[E any](changes []Splice[E]) (places []int) {
	shift := 0
	for _, s := range changes {
		for i := range s.Insert {
			places = append(places, s.At+shift+i)
		}
		shift += len(s.Insert) - s.Remove
	}
	return places
}

// share replaces entries of list by equal entries of old.
func share[E ListEntry](list, old []E) {
	changes := Splices(old, list)
	before := removed(old, changes)
	for _, i := range inserted(changes) {
		if known, found := before[list[i].Common().ID]; found && same(known, list[i]) {
			list[i] = known
		}
	}
}

// Share replaces zones, entries and the emergency of d by equal ones of old, so that what has not
// changed has the same address.
func (d *Document) Share(old *Document) {
	for name, z := range d.Zones {
		if known, found := old.Zones[name]; found && same(known, z) {
			d.Zones[name] = known
		}
	}
	share(d.Overrides, old.Overrides)
	share(d.Tiers, old.Tiers)
	share(d.Access, old.Access)
	if same(d.Emergency, old.Emergency) {
		d.Emergency = old.Emergency
	}
}
