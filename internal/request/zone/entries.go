package zone

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fleetlimit/fleetlimit/internal/key/keytemplate"
	"github.com/fleetlimit/fleetlimit/rules"
)

// zoneChanges are what the rules in force say about a zone.
type zoneChanges struct {
	zone      *rules.ZoneChange // nil if there is nothing
	overrides []*rules.Override
	tiers     []*rules.TierAssignment
	access    []*rules.AccessEntry
}

// changesOf returns what a document says about the zones, by their names. It leaves out entries
// that have expired at now.
func changesOf(d *rules.Document, now time.Time) map[string]*zoneChanges {
	all := make(map[string]*zoneChanges)
	of := func(zone string) *zoneChanges {
		c := all[zone]
		if c == nil {
			c = new(zoneChanges)
			all[zone] = c
		}
		return c
	}
	for name, z := range d.Zones {
		of(name).zone = z
	}
	for _, o := range d.Overrides {
		if !o.Expired(now) {
			c := of(o.Zone)
			c.overrides = append(c.overrides, o)
		}
	}
	for _, t := range d.Tiers {
		if !t.Expired(now) {
			c := of(t.Zone)
			c.tiers = append(c.tiers, t)
		}
	}
	for _, a := range d.Access {
		if a.Key != nil && !a.Expired(now) {
			c := of(a.Zone)
			c.access = append(c.access, a)
		}
	}
	return all
}

// description names the entries, the first of them if there are many.
func (c *zoneChanges) description() string {
	var ids []string
	if c.zone != nil {
		ids = append(ids, "limits")
	}
	for _, o := range c.overrides {
		ids = append(ids, "override "+o.ID)
	}
	for _, t := range c.tiers {
		ids = append(ids, "tier "+t.ID)
	}
	for _, a := range c.access {
		ids = append(ids, "access "+a.ID)
	}
	if most := 10; len(ids) > most {
		ids = append(ids[:most], fmt.Sprintf("%d more", len(ids)-most))
	}
	return strings.Join(ids, ", ")
}

// keyEntries are what the rules in force say about one key of a zone, in the order of the document.
type keyEntries struct {
	access    []expiring[bool] // whether the key is allowed; else it is denied
	tiers     []expiring[int]
	overrides []expiring[keyOverride]
}

// A keyOverride is an override of a key at an endpoint, or at all of them if endpoint is -1.
type keyOverride struct {
	endpoint int
	*override
}

// An expiring value counts as absent from an instant on.
type expiring[T any] struct {
	value T
	end   time.Time    // zero if it never ends
	from  *rules.Entry // what says so
}

func newExpiring[T any](value T, e *rules.Entry) expiring[T] {
	x := expiring[T]{value: value, from: e}
	if e.ExpiresAt != nil {
		x.end = *e.ExpiresAt
	}
	return x
}

func (e *expiring[T]) inForce(now time.Time) bool { return e.end.IsZero() || now.Before(e.end) }

// accessAt returns whether the key is allowed or denied at now. Denials come first.
func (k *keyEntries) accessAt(now time.Time) (allowed, denied bool) {
	for i := range k.access {
		if a := &k.access[i]; a.inForce(now) {
			allowed, denied = allowed || a.value, denied || !a.value
		}
	}
	return allowed && !denied, denied
}

// tierAt returns the tier that the key is given at now.
func (k *keyEntries) tierAt(now time.Time) (tier int, found bool) {
	for i := range k.tiers {
		if t := &k.tiers[i]; t.inForce(now) {
			tier, found = t.value, true
		}
	}
	return tier, found
}

// overrideAt returns the override of the key's rate at an endpoint at now, or nil.
func (k *keyEntries) overrideAt(now time.Time, endpoint int) *override {
	if found := k.findOverride(now, endpoint, (*override).changesRate); found != nil {
		return found.value.override
	}
	return nil
}

// findOverride returns the override of the key at an endpoint at now that changes what is meant, or
// nil. One of that endpoint alone comes before one of all endpoints.
func (k *keyEntries) findOverride(now time.Time, endpoint int, changes func(*override) bool) (found *expiring[keyOverride]) {
	for i := range k.overrides {
		o := &k.overrides[i]
		if (o.value.endpoint == endpoint || o.value.endpoint < 0) && o.inForce(now) && changes(o.value.override) &&
			(found == nil || o.value.endpoint >= found.value.endpoint) {
			found = o
		}
	}
	return found
}

// entriesAt returns the entries that are in force at now. There are none of nil.
func (k *keyEntries) entriesAt(now time.Time) map[*rules.Entry]bool {
	if k == nil {
		return nil
	}
	all := make(map[*rules.Entry]bool)
	addInForce(all, k.access, now)
	addInForce(all, k.tiers, now)
	addInForce(all, k.overrides, now)
	return all
}

func addInForce[T any](all map[*rules.Entry]bool, list []expiring[T], now time.Time) {
	for _, e := range list {
		if e.inForce(now) {
			all[e.from] = true
		}
	}
}

// setEntries sets the entries of keys. The errors are about those that are left out.
func (c *zoneRules) setEntries(z *Zone, earlier *zoneRules, changes *zoneChanges) (left []error) {
	c.keys = newKeyTable[keyEntries](len(changes.overrides) + len(changes.tiers) + len(changes.access))
	c.overrides = make(map[overrideText]*override)
	return c.addEntries(z, earlier, changes, c.keys.add)
}

// addEntries adds the entries of changes to what of returns for their keys.
func (c *zoneRules) addEntries(z *Zone, earlier *zoneRules, changes *zoneChanges, of func(key []byte) *keyEntries) (left []error) {
	add := func(id string, k *rules.Key, add func(*keyEntries)) {
		keys, err := z.KeysOf(k)
		if err != nil {
			left = append(left, fmt.Errorf("entry %s: %w", id, err))
		}
		for _, key := range keys {
			add(of(key))
		}
	}
	checker := newOverrideChecker(z.builder, c)
	for _, o := range changes.overrides {
		compiled, err := c.override(z, earlier, o)
		if err != nil {
			left = append(left, fmt.Errorf("override %s: %w", o.ID, err))
			continue
		}
		if err := checker.check(compiled).left; err != nil {
			left = append(left, fmt.Errorf("override %s: %w", o.ID, err))
		}
		if u := z.builder.usage; compiled.changesConcurrent() && u != nil {
			u.Concurrent.Store(true)
		}
		add(o.ID, &o.Key, func(k *keyEntries) { k.overrides = append(k.overrides, newExpiring(compiled, &o.Entry)) })
	}
	for _, t := range changes.tiers {
		tier, err := z.tierNamed(t.Tier)
		if err != nil {
			left = append(left, fmt.Errorf("tier %s: %w", t.ID, err))
			continue
		}
		add(t.ID, &t.Key, func(k *keyEntries) { k.tiers = append(k.tiers, newExpiring(tier, &t.Entry)) })
	}
	for _, a := range changes.access {
		allow := a.Action == rules.Allow
		add(a.ID, a.Key, func(k *keyEntries) { k.access = append(k.access, newExpiring(allow, &a.Entry)) })
	}
	return left
}

// tierNamed returns the tier of z called name.
func (z *Zone) tierNamed(name string) (int, error) {
	if z.tiers == nil {
		return 0, fmt.Errorf("the zone has no tiers: use an override")
	}
	return z.tiers.named(name)
}

// Keys returns the keys of requests that k names. Its zone exists.
func (s *Set) Keys(k *rules.Key) ([][]byte, error) { return s.Named(k.Zone).KeysOf(k) }

// KeysOf returns the keys of requests that k names, as the rules and the store have them. It is
// usually one. A missing key can be what on_missing_key makes, or what stands in for an ambiguous
// cookie or a missing address.
func (z *Zone) KeysOf(k *rules.Key) (keys [][]byte, err error) {
	text, err := k.Bytes()
	if err != nil {
		return nil, err
	}
	for _, t := range z.templatesOf(k) {
		key, refused := t.KeyOf(string(text))
		switch {
		case refused == nil && !slices.ContainsFunc(keys, func(other []byte) bool { return bytes.Equal(other, key) }):
			keys = append(keys, key)
		case err == nil:
			err = refused // of the most likely template
		}
	}
	if len(keys) > 0 {
		return keys, nil
	}
	return nil, err
}

// templatesOf returns the templates that may make the keys that k names, the likeliest first.
func (z *Zone) templatesOf(k *rules.Key) []*keytemplate.Template {
	switch {
	case !k.Missing:
		return []*keytemplate.Template{z.Key}
	case z.missing.key == nil:
		return []*keytemplate.Template{z.cookieKey, z.socketKey}
	}
	return []*keytemplate.Template{z.missing.key, z.socketKey, z.cookieKey}
}
