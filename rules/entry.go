package rules

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/fleetlimit/fleetlimit/internal/key/ipset"
	"github.com/fleetlimit/fleetlimit/internal/text/strictjson"
)

// Expired reports whether e has expired at now. An expired entry has no effect.
func (e *Entry) Expired(now time.Time) bool { return expired(e.ExpiresAt, now) }

// Expired reports whether e has expired at now. It returns true if e is nil.
func (e *Emergency) Expired(now time.Time) bool { return e == nil || expired(e.ExpiresAt, now) }

// expired reports whether at has passed at now. A nil at never passes.
func expired(at *time.Time, now time.Time) bool { return at != nil && !now.Before(*at) }

// Bytes returns the text of k.
func (k Key) Bytes() ([]byte, error) {
	switch {
	case k.Base64 == "":
		return []byte(k.Text), nil
	case k.Text != "":
		return nil, errors.New("there are both key and key_base64: use one of them")
	}
	b, err := base64.StdEncoding.DecodeString(k.Base64)
	if err != nil {
		return nil, errors.New("key_base64 is not base64: use its standard alphabet with padding, or key for text")
	}
	return b, nil
}

// A subject is what an entry is about.
type subject struct {
	zone, key, endpoint, address string
	missing                      bool
}

// subject returns the subject of an entry about k at an endpoint. Equal keys have equal subjects.
func (k Key) subject(endpoint string) subject {
	text := k.Text
	if k.Base64 != "" {
		if key, err := k.Bytes(); err == nil {
			text = string(key)
		} else {
			text = "\x00" + k.Text + "\x00" + k.Base64
		}
	}
	return subject{zone: k.Zone, key: text, endpoint: endpoint, missing: k.Missing}
}

// A ListEntry is an entry of a list.
type ListEntry interface {
	comparable

	// Common returns what all entries have.
	Common() *Entry

	// OfKey returns the key that the entry is about. It returns nil if the entry is about an address.
	OfKey() *Key

	// subjectOf returns what the entry is about. No two entries of a list are about the same.
	subjectOf() subject

	// canonical returns what Canonical returns, which is an entry of the same type.
	canonical(schema Schema) any

	check(v *validator, path string)
}

// Common returns e. Entries of lists embed it.
func (e *Entry) Common() *Entry { return e }

// OfKey implements ListEntry.
func (o *Override) OfKey() *Key { return &o.Key }

// OfKey implements ListEntry.
func (a *TierAssignment) OfKey() *Key { return &a.Key }

// OfKey implements ListEntry.
func (a *AccessEntry) OfKey() *Key { return a.Key }

func (o *Override) subjectOf() subject       { return o.Key.subject(o.Endpoint) }
func (a *TierAssignment) subjectOf() subject { return a.Key.subject("") }

func (a *AccessEntry) subjectOf() subject {
	if a.Key != nil {
		return a.Key.subject("")
	}
	if p, err := ipset.ParsePrefix(a.Address); err == nil {
		return subject{address: p.String()}
	}
	return subject{address: a.Address}
}

func (o *Override) check(v *validator, path string) {
	zone, _ := v.key(path, o.Key)
	if zone == nil || o.Endpoint != "" && !v.find(path+".endpoint", "endpoint", o.Endpoint, zone.endpoints) {
		return
	}
	switch {
	case o.Limit != "" && o.Multiplier != 0:
		v.report(path, "there are both limit and multiplier: use one of them")
	case o.Limit != "":
		v.check(path+".limit", v.override(zone, o))
	case o.Multiplier == 0 && o.Concurrent != 0:
		v.check(path+".concurrent", v.override(zone, o))
	case o.Multiplier == 0:
		v.report(path, `there is neither limit nor multiplier nor concurrent: use one such as "limit": "5000/1m" or "multiplier": 5; the limit `+
			"block rejects all requests of the key")
	case !(o.Multiplier > 0 && o.Multiplier <= MaxMultiplier): // NaN, too
		v.report(path+".multiplier", "it is %v: use a number above 0, and at most %d", o.Multiplier, int(MaxMultiplier))
	default:
		v.check(path+".multiplier", v.override(zone, o))
	}
}

// override returns an error unless zone can have the limits that o makes.
func (v *validator) override(zone *knownZone, o *Override) error {
	if zone.override == nil {
		zone.override = v.schema.Overrides(o.Zone, v.document.Zones[o.Zone])
	}
	return zone.override(o)
}

func (a *TierAssignment) check(v *validator, path string) {
	if zone, _ := v.key(path, a.Key); zone != nil {
		v.find(path+".tier", "tier", a.Tier, zone.tiers)
	}
}

func (a *AccessEntry) check(v *validator, path string) {
	v.find(path+".action", "action", a.Action, []string{Allow, Deny})
	switch {
	case a.Key != nil && a.Address != "":
		v.report(path, "there are both a key and an address: use one entry for each")
	case a.Address != "":
		_, err := ipset.ParsePrefix(a.Address)
		v.check(path+".address", err)
	case a.Key == nil:
		v.report(path, `there is neither a key nor an address: use "zone" and "key", or "address"`)
	default:
		if _, shared := v.key(path, *a.Key); shared && a.Action == Deny {
			v.report(path, "all requests of zone %q have this key, so it rejects all of them: use the limit block in the zone",
				a.Zone)
		}
	}
}

// key checks a key. It returns the zone of the key, or nil if there is no such zone. shared reports
// that all requests of the zone have the key.
func (v *validator) key(path string, k Key) (zone *knownZone, shared bool) {
	if zone = v.findZone(path+".zone", k.Zone); zone == nil {
		return nil, false
	}
	text, err := k.Bytes()
	if err == nil && len(text) > MaxKey {
		err = fmt.Errorf("it has %d bytes: use at most %d", len(text), MaxKey)
	}
	if err == nil {
		shared, err = v.schema.Key(k)
	}
	v.check(path+".key", err)
	return zone, shared && err == nil
}

// validateList checks the entries of a list that differ from those of old. It also checks that none
// of these has the ID or the subject of another entry.
func validateList[E ListEntry](v *validator, list string, entries, old []E) {
	changes := Splices(old, entries)
	before := removed(old, changes)
	differs := make(map[int]bool)
	ids, subjects := make(map[string]int), make(map[subject]int) // index of the last entry seen with an ID or a subject of an entry that differs, or -1
	for _, i := range inserted(changes) {
		if e := entries[i]; !same(before[e.Common().ID], e) {
			differs[i], ids[e.Common().ID], subjects[Canonical(e, v.schema).subjectOf()] = true, -1, -1
		}
	}
	for i, e := range entries {
		if len(v.problems) == maxProblems {
			return
		}
		path := func() string { return strictjson.Index(list, i) }
		common := e.Common()
		if last, found := ids[common.ID]; found {
			if last >= 0 && (differs[last] || differs[i]) {
				v.report(path()+".id", "%s[%d] has the id %q, too: use another one", list, last, common.ID)
			}
			ids[common.ID] = i
		}
		if differs[i] {
			v.id(path()+".id", common.ID)
			v.expiry(path(), common.ExpiresAt)
			v.reason(path(), common.Reason)
			e.check(v, path())
		}
		if common.Expired(v.now) {
			continue
		}
		subject := Canonical(e, v.schema).subjectOf()
		if last, found := subjects[subject]; found {
			if last >= 0 && (differs[last] || differs[i]) {
				v.report(path(), "%s[%d] is about the same: use only one of them, and change or delete that", list, last)
			}
			subjects[subject] = i
		}
	}
}

// id checks the ID of an entry, which stands in the paths of the admin API.
func (v *validator) id(path, id string) {
	const valid = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-"
	if id == "" || len(id) > 64 || strings.Trim(id, valid) != "" || strings.Trim(id, ".") == "" {
		v.report(path, "%q is not valid: use 1 to 64 of the characters A-Z, a-z, 0-9, _, . and -", id)
	}
}

// byID returns entries by their ID.
func byID[E ListEntry](entries []E) map[string]E {
	m := make(map[string]E, len(entries))
	for _, e := range entries {
		m[e.Common().ID] = e
	}
	return m
}
