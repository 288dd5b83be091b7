package rules

import "github.com/fleetlimit/fleetlimit/internal/key/ipset"

// Canonical returns an entry with its key in the form in which requests have it, or with its
// address or prefix in canonical form. It returns the entry itself if the entry has that form
// already.
func Canonical[E ListEntry](entry E, schema Schema) E { return entry.canonical(schema).(E) }

// normalize makes the entries that old does not have canonical, so that entries about one count
// have the same text.
func (d *Document) normalize(old *Document, schema Schema) {
	normalize(d.Overrides, old.Overrides, schema)
	normalize(d.Tiers, old.Tiers, schema)
	normalize(d.Access, old.Access, schema)
}

func normalize[E ListEntry](entries, old []E, schema Schema) {
	for _, i := range inserted(Splices(old, entries)) {
		entries[i] = Canonical(entries[i], schema)
	}
}

func (o *Override) canonical(schema Schema) any {
	key := schema.Canonical(o.Key)
	if key == o.Key {
		return o
	}
	c := *o
	c.Key = key
	return &c
}

func (a *TierAssignment) canonical(schema Schema) any {
	key := schema.Canonical(a.Key)
	if key == a.Key {
		return a
	}
	c := *a
	c.Key = key
	return &c
}

func (a *AccessEntry) canonical(schema Schema) any {
	c := *a
	if a.Key != nil {
		key := schema.Canonical(*a.Key)
		if key == *a.Key {
			return a
		}
		c.Key = &key
		return &c
	}
	p, err := ipset.ParsePrefix(a.Address)
	if err != nil || ipset.Format(p) == a.Address {
		return a
	}
	c.Address = ipset.Format(p)
	return &c
}
