package inspect

import (
	"fmt"
	"slices"

	"github.com/fleetlimit/fleetlimit/internal/request/zone"
)

// A DroppedZone is a zone whose keys start at their full limit after a reload, wholly or in part.
type DroppedZone struct {
	*zone.Zone            // after the reload, or before it if it is gone
	Before     *zone.Zone // it had this name
	Changed    []string   // why
}

// Dropped returns the zones whose counts are dropped by a reload from before to after. otherStore
// says how the store has changed, or "" if it has not.
func Dropped(before, after *zone.Set, otherStore string) (all []DroppedZone) {
	renamed := renamedZones(before, after)
	for _, name := range before.Zones() {
		was, z, changed := before.Named(name), after.Named(name), []string(nil)
		switch {
		case z != nil && otherStore != "":
			changed = []string{otherStore}
		case z != nil:
			changed = countChanges(was, z)
		case renamed[name] != nil:
			z = renamed[name]
			changed = []string{fmt.Sprintf("name: %s is now %s", name, z.Name)}
		default:
			z, changed = was, []string{"the zone: it is not in the configuration"}
		}
		if len(changed) > 0 {
			all = append(all, DroppedZone{z, was, changed})
		}
	}
	return all
}

// renamedZones returns the zones that are equal to one that is gone, by the name of that.
func renamedZones(before, after *zone.Set) map[string]*zone.Zone {
	added := make(map[string]*zone.Zone) // by definition
	for _, name := range after.Zones() {
		if before.Named(name) == nil {
			z := after.Named(name)
			added[z.Settings().Definition()] = z
		}
	}
	renamed := make(map[string]*zone.Zone)
	for _, name := range before.Zones() {
		if after.Named(name) != nil {
			continue
		}
		if same := added[before.Named(name).Settings().Definition()]; same != nil {
			renamed[name] = same
		}
	}
	return renamed
}

// countChanges returns what has changed of a zone so that requests do not find their counts.
func countChanges(before, after *zone.Zone) (changed []string) {
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
	if was, is := countedWithoutKey(before), countedWithoutKey(after); was != "" && is != "" {
		add("on_missing_key", was, is)
	}
	was, _ := before.KeyOptions(before.Settings()) // they were compiled
	is, _ := after.KeyOptions(after.Settings())
	_, wasLimited := before.MissingKey()
	_, isLimited := after.MissingKey()
	if wasLimited && !isLimited {
		changed = append(changed, "on_missing_key: it has no limit of its own")
	}
	if masksAddresses(before) && masksAddresses(after) {
		addPrefix("4", was.IPv4Prefix, is.IPv4Prefix)
		addPrefix("6", was.IPv6Prefix, is.IPv6Prefix)
	}
	if before.Key.String() != after.Key.String() {
		return changed // each count has another number, whatever else there is
	}
	from, to := before.Slots(), after.Slots()
	kept, lost := countIDs(to), -1 // the last endpoint that was listed
	for _, s := range from {
		if s.Missing || s.Limit == nil || s.Limit.Rule == nil || kept[s.Limit.CountID] || s.Place == lost {
			continue
		}
		lost = s.Place
		changed = append(changed, lostAt(s.Endpoint, from, to))
	}
	return changed
}

// countedWithoutKey says how requests without a key count, or returns "" if they do not.
func countedWithoutKey(z *zone.Zone) string {
	switch substitute, _ := z.MissingKey(); {
	case substitute == nil:
		return ""
	case len(z.Key.Placeholders()) > 0 && !z.Key.MayBeMissing(): // in the syntax of caddy-ratelimit
		return "an empty text in the key"
	default:
		return substitute.String()
	}
}

// masksAddresses reports whether keys of z may be prefixes of addresses: its own, or their
// substitutes if those are in use.
func masksAddresses(z *zone.Zone) bool {
	substitute, _ := z.MissingKey()
	return z.Key.Masks() || substitute != nil && substitute.Masks() && z.Key.MayBeMissing()
}

// lostAt says why the counts of keys at an endpoint are not among after, which are slots in place
// of before.
func lostAt(endpoint string, before, after []zone.Slot) string {
	if !slices.ContainsFunc(after, func(s zone.Slot) bool { return s.Endpoint == endpoint }) {
		return fmt.Sprintf("endpoint %s: it is not in the zone", endpoint)
	}
	place := "the rest of the zone"
	if endpoint != "" {
		place = "endpoint " + endpoint
	}
	if was, is := algorithmAt(endpoint, before), algorithmAt(endpoint, after); is != "" && was != is {
		return fmt.Sprintf("algorithm of %s: %s is now %s", place, was, is)
	}
	return place + ": it has no limit of its own"
}

// algorithmAt returns the algorithm of an endpoint, "" if it limits no key.
func algorithmAt(endpoint string, slots []zone.Slot) string {
	for _, s := range slots {
		if s.Endpoint == endpoint && s.Limit != nil && !s.Missing {
			return algorithmText(s.Algorithm)
		}
	}
	return ""
}
