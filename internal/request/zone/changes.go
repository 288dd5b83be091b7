package zone

import (
	"fmt"
	"maps"
	"slices"
)

// A droppedZone is a zone whose keys start at their full limit after a reload, wholly or in part.
type droppedZone struct {
	*Zone            // after the reload, or before it if it is gone
	Before  *Zone    // it had this name
	Changed []string // why
}

// Dropped returns the zones whose counts are dropped by a reload from old to s. otherStore says how the
// store has changed, or "" if it has not.
func (s *Set) Dropped(old *Set, otherStore string) (all []droppedZone) {
	before, after := old.byName(), s.byName()
	renamed := renamedZones(before, after)
	for _, name := range slices.Sorted(maps.Keys(before)) {
		z, changed := after[name], []string(nil)
		switch {
		case z != nil && otherStore != "":
			changed = []string{otherStore}
		case z != nil:
			changed = countChanges(before[name], z)
		case renamed[name] != nil:
			z = renamed[name]
			changed = []string{fmt.Sprintf("name: %s is now %s", name, z.Name)}
		default:
			z, changed = before[name], []string{"the zone: it is not in the configuration"}
		}
		if len(changed) > 0 {
			all = append(all, droppedZone{z, before[name], changed})
		}
	}
	return all
}

// byName returns one zone of each name. Those of one name have equal definitions, or are in
// the syntax of caddy-ratelimit.
func (s *Set) byName() map[string]*Zone {
	zones := make(map[string]*Zone)
	for _, z := range s.All() {
		if zones[z.Name] == nil {
			zones[z.Name] = z
		}
	}
	return zones
}

// renamedZones returns the zones that are equal to one that is gone, by the name of that.
func renamedZones(before, after map[string]*Zone) map[string]*Zone {
	added := make(map[string]*Zone) // by definition
	for name, z := range after {
		if before[name] == nil {
			added[z.builder.zone.Definition()] = z
		}
	}
	renamed := make(map[string]*Zone)
	for name, z := range before {
		if after[name] != nil {
			continue
		}
		if same := added[z.builder.zone.Definition()]; same != nil {
			renamed[name] = same
		}
	}
	return renamed
}

// countChanges returns what has changed of a zone so that requests do not find their counts.
func countChanges(before, after *Zone) (changed []string) {
	add := func(what, was, is string) {
		if was != is {
			changed = append(changed, fmt.Sprintf("%s: %s is now %s", what, was, is))
		}
	}
	addPrefix := func(family string, was, is int) {
		if was != is {
			changed = append(changed, fmt.Sprintf("ipv%s_prefix: %d is now %d, for IPv%[1]s clients only", family, was, is))
		}
	}
	add("key", before.Key.String(), after.Key.String())
	if was, is := before.countedWithoutKey(), after.countedWithoutKey(); was != "" && is != "" {
		add("on_missing_key", was, is)
	}
	was, _ := before.keyOptions(before.builder.zone) // they were compiled
	is, _ := after.keyOptions(after.builder.zone)
	if before.missing.limited && !after.missing.limited {
		changed = append(changed, "on_missing_key: it has no limit of its own")
	}
	if before.masksAddresses() && after.masksAddresses() {
		addPrefix("4", was.IPv4Prefix, is.IPv4Prefix)
		addPrefix("6", was.IPv6Prefix, is.IPv6Prefix)
	}
	if before.Key.String() != after.Key.String() {
		return changed // each count has another number, whatever else there is
	}
	kept := make(map[uint32]bool)
	places := make(map[string]*endpointRules)
	for i := range after.configured.endpoints {
		e := &after.configured.endpoints[i]
		places[e.name()] = e
		for _, r := range e.all() {
			kept[r.CountID] = true
		}
	}
	for i := range before.configured.endpoints {
		if e := &before.configured.endpoints[i]; !e.keeps(kept) {
			changed = append(changed, e.change(places[e.name()]))
		}
	}
	return changed
}

// countedWithoutKey says how requests without a key count, or returns "" if they do not.
func (z *Zone) countedWithoutKey() string {
	switch {
	case z.missing.key == nil:
		return ""
	case len(z.Key.Placeholders()) > 0 && !z.Key.MayBeMissing(): // in the syntax of caddy-ratelimit
		return "an empty text in the key"
	}
	return z.missing.key.String()
}

// masksAddresses reports whether keys of z may be prefixes of addresses: its own, or their substitutes
// if those are in use.
func (z *Zone) masksAddresses() bool {
	substitute := z.missing.key
	return z.Key.Masks() || substitute != nil && substitute.Masks() && z.Key.MayBeMissing()
}

// keeps reports whether the counts of keys at e are among those with the numbers kept.
func (e *endpointRules) keeps(kept map[uint32]bool) bool {
	return !slices.ContainsFunc(e.rules, func(r *rule) bool { return r != nil && r.Rule != nil && !kept[r.CountID] })
}

// change says why the counts of e are not those of is, which is in its place, or nil.
func (e *endpointRules) change(is *endpointRules) string {
	if is == nil {
		return fmt.Sprintf("endpoint %s: it is not in the zone", e.name())
	}
	place := "the rest of the zone"
	if e.route != nil {
		place = "endpoint " + e.name()
	}
	if was, is := e.algorithm(), is.algorithm(); is != "" && was != is {
		return fmt.Sprintf("algorithm of %s: %s is now %s", place, was, is)
	}
	return place + ": it has no limit of its own"
}

// algorithm returns the algorithm of e, "" if it limits no key.
func (e *endpointRules) algorithm() string {
	for _, r := range e.rules {
		if r != nil {
			return algorithmText(r.compiled.Algorithm)
		}
	}
	return ""
}
