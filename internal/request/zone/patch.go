package zone

import (
	"slices"
	"time"

	"github.com/fleetlimit/fleetlimit/rules"
)

// mostPatched is how many keys of a zone are patched before all of them are compiled again.
const mostPatched = 1000

// recompile compiles a version of which earlier has almost all: only what differs between the two,
// so that the change of an entry is quick among many. ok is false if too much differs.
func (s *Set) recompile(v *rules.Version, earlier *Snapshot, now time.Time) (_ *Snapshot, left []LeftOut, ok bool) {
	if earlier == nil || earlier.set != s {
		return nil, nil, false
	}
	old, d := earlier.Version.Document, v.Document
	p := rules.NewPatch(old, d)
	removed, added := p.Parts(old)
	if d.Entries() == 0 || len(p.Zones) > 0 || removed.Entries()+added.Entries() > mostPatched {
		return nil, nil, false
	}
	compiled := &Snapshot{set: s, Version: v, zones: slices.Clone(earlier.zones), addresses: earlier.addresses}
	if len(p.Access) > 0 {
		var errs []error
		compiled.addresses, errs = newAddressEntries(d.Access)
		left = append(left, LeftOut{nil, errs})
	}
	gone, come := changesOf(removed, time.Time{}), changesOf(added, now)
	names := make(map[string]bool)
	for _, changes := range []map[string]*zoneChanges{gone, come} {
		for name := range changes {
			names[name] = true
		}
	}
	for name := range names {
		if s.Named(name) == nil && come[name] != nil {
			return nil, nil, false // which says so
		}
		for _, z := range s.ZonesCalled(name) {
			c, errs := earlier.rulesFor(z), []error(nil)
			switch {
			case c.keys.changes() > mostPatched:
				return nil, nil, false
			case c != z.configured:
				c, errs = z.patch(c, gone[name], come[name])
			case come[name] != nil: // the first entries of the zone
				c, errs = z.compile(c, come[name])
			}
			compiled.zones[z.index] = c
			left = append(left, LeftOut{z, errs})
		}
	}
	return compiled, left, true
}

// patch returns rules of z without some entries and with others, each nil if there are none. The
// errors are about those that are left out.
func (z *Zone) patch(was *zoneRules, gone, come *zoneChanges) (*zoneRules, []error) {
	changed := make(map[string]*keyEntries)
	of := func(key []byte) *keyEntries {
		entries := changed[string(key)]
		if entries == nil {
			entries = new(keyEntries)
			if known := was.keys.find(key); known != nil {
				*entries = known.clone()
			}
			changed[string(key)] = entries
		}
		return entries
	}
	if gone != nil {
		for _, o := range gone.overrides {
			z.eachKey(&o.Key, func(key []byte) { drop(&of(key).overrides, &o.Entry) })
		}
		for _, t := range gone.tiers {
			z.eachKey(&t.Key, func(key []byte) { drop(&of(key).tiers, &t.Entry) })
		}
		for _, a := range gone.access {
			z.eachKey(a.Key, func(key []byte) { drop(&of(key).access, &a.Entry) })
		}
	}
	patched := *was
	var left []error
	if come != nil {
		left = patched.addEntries(z, was, come, of)
	}
	for key, entries := range changed {
		if len(entries.access)+len(entries.tiers)+len(entries.overrides) == 0 {
			changed[key] = nil
		}
	}
	patched.keys = was.keys.withChanged(changed)
	return &patched, left
}

// eachKey calls do with the keys that k names. There are none of a key that cannot be.
func (z *Zone) eachKey(k *rules.Key, do func(key []byte)) {
	keys, _ := z.KeysOf(k)
	for _, key := range keys {
		do(key)
	}
}

// clone returns a copy of k that can be changed.
func (k *keyEntries) clone() keyEntries {
	return keyEntries{slices.Clone(k.access), slices.Clone(k.tiers), slices.Clone(k.overrides)}
}

// drop removes what an entry says.
func drop[T any](list *[]expiring[T], from *rules.Entry) {
	*list = slices.DeleteFunc(*list, func(x expiring[T]) bool { return x.from == from })
}
