package inspect

import (
	"context"
	"encoding/base64"
	"iter"

	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/internal/key/keytemplate"
	"github.com/fleetlimit/fleetlimit/internal/request/zone"
	"github.com/fleetlimit/fleetlimit/rules"
)

// KeyByHash returns the key of a zone with a hash, nil if it is none of those that the rules name
// or that are in known, as the store has them. It looks for as long as ctx lasts.
func KeyByHash(ctx context.Context, s *zone.Snapshot, name, hash string, known ...iter.Seq[[]byte]) *api.KnownKey {
	z := s.Set().Named(name)
	for _, keys := range append([]iter.Seq[[]byte]{namedKeys(s.Version.Document, z)}, known...) {
		for key := range keys {
			switch {
			case hasHash(z, key, hash):
				return knownKey(z, key, showsKeys(s, name))
			case ctx.Err() != nil:
				return nil
			}
		}
	}
	return nil
}

// hasHash reports whether the text of a key has a hash. A digest has no text.
func hasHash(z *zone.Zone, key []byte, hash string) bool {
	for _, t := range z.Templates {
		if text, ok := t.TextOf(key); ok && text != "" && keytemplate.Hash(text) == hash {
			return true
		}
	}
	return false
}

// knownKey describes a key that was found. show is as in shownKey.
func knownKey(z *zone.Zone, key []byte, show bool) *api.KnownKey {
	k := &api.KnownKey{Shown: shownKey(z, key, show), Stored: base64.StdEncoding.EncodeToString(key)}
	if name, exact := z.NameOf(key); exact {
		k.Name = name
	}
	return k
}

// namedKeys returns the keys of a zone that entries of the rules name.
func namedKeys(d *rules.Document, z *zone.Zone) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		each := func(k *rules.Key) bool {
			if k == nil || k.Zone != z.Name {
				return true
			}
			keys, _ := z.KeysOf(k) // an entry that has become wrong names none
			for _, key := range keys {
				if !yield(key) {
					return false
				}
			}
			return true
		}
		for _, o := range d.Overrides {
			if !each(&o.Key) {
				return
			}
		}
		for _, a := range d.Tiers {
			if !each(&a.Key) {
				return
			}
		}
		for _, a := range d.Access {
			if !each(a.Key) {
				return
			}
		}
	}
}
