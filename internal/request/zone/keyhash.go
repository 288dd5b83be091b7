package zone

import (
	"context"
	"encoding/base64"
	"iter"

	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/internal/key/keytemplate"
	"github.com/fleetlimit/fleetlimit/rules"
)

// KeyByHash returns the key of a zone with a hash, nil if it is none of those that the rules name or
// that are in known, as the store has them. It looks for as long as ctx lasts.
func (s *Snapshot) KeyByHash(ctx context.Context, zone, hash string, known ...iter.Seq[[]byte]) *api.KnownKey {
	z := s.set.named(zone)
	for _, keys := range append([]iter.Seq[[]byte]{s.namedKeys(z)}, known...) {
		for key := range keys {
			switch {
			case z.hasHash(key, hash):
				return s.known(z, key)
			case ctx.Err() != nil:
				return nil
			}
		}
	}
	return nil
}

// hasHash reports whether the text of a key has a hash. A digest has no text.
func (z *Zone) hasHash(key []byte, hash string) bool {
	for _, t := range z.templates {
		if text, ok := t.TextOf(key); ok && text != "" && keytemplate.Hash(text) == hash {
			return true
		}
	}
	return false
}

// known describes a key that was found.
func (s *Snapshot) known(z *Zone, key []byte) *api.KnownKey {
	k := &api.KnownKey{
		Shown: z.show(key, s.set.showsKeys(z.Name)), Stored: base64.StdEncoding.EncodeToString(key),
	}
	if name, exact := z.nameOf(key); exact {
		k.Name = name
	}
	return k
}

// namedKeys returns the keys of a zone that entries of the rules name.
func (s *Snapshot) namedKeys(z *Zone) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		each := func(k *rules.Key) bool {
			if k == nil || k.Zone != z.Name {
				return true
			}
			keys, _ := z.keysOf(k) // an entry that has become wrong names none
			for _, key := range keys {
				if !yield(key) {
					return false
				}
			}
			return true
		}
		d := s.Version.Document
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
