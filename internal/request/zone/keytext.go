package zone

import (
	"bytes"
	"encoding/base64"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/fleetlimit/fleetlimit/internal/key/keytemplate"
	"github.com/fleetlimit/fleetlimit/rules"
)

// nameOf returns how operators write a key that the store has. It is exact if it names that key:
// not if the text is not known, because the key is a digest, or if it is the text of several keys.
func (z *Zone) nameOf(key []byte) (name rules.Key, exact bool) {
	name = rules.Key{Zone: z.Name, Missing: keytemplate.IsSubstitute(key)}
	for _, t := range z.templates {
		text, ok := t.TextOf(key)
		if !ok {
			continue
		}
		name.Text, name.Base64 = text, ""
		if !utf8.ValidString(text) {
			name.Text, name.Base64 = "", base64.StdEncoding.EncodeToString([]byte(text))
		}
		keys, err := z.keysOf(&name)
		if err == nil && slices.ContainsFunc(keys, func(other []byte) bool { return bytes.Equal(other, key) }) {
			return name, true
		}
	}
	return name, false
}

// canonical returns k as requests have it: there are several texts of an address, which counts by its
// prefix, or of a host. It returns k itself if no request has it.
func (z *Zone) canonical(k rules.Key) rules.Key {
	spaces := strings.Trim(k.Text, " \t") != k.Text
	templates := z.templatesOf(&k)
	if !spaces && !slices.ContainsFunc(templates, (*keytemplate.Template).Respells) {
		return k
	}
	keys, err := z.keysOf(&k)
	if err != nil {
		return k
	}
	if text, known := templates[0].TextOf(keys[0]); known && text == k.Text {
		return k // as most entries are
	}
	name, exact := z.nameOf(keys[0])
	others, _ := z.keysOf(&name)
	if !exact || name.Missing != k.Missing || !slices.EqualFunc(keys, others, bytes.Equal) {
		return k
	}
	was, _ := k.Bytes()
	if is, _ := name.Bytes(); bytes.Equal(is, was) {
		return k // in base64, perhaps
	}
	return name
}

// A KeyRef is a key as a request to the admin API names it. Stored is the key as the store has it,
// in base64: for keys that no text names.
type KeyRef struct {
	rules.Key
	Stored string
}

var errNotStored = errors.New("key_stored is not one that keys of the zone have: use what GET /rate_limit/zones/{zone}/top shows")

// resolve returns the keys of requests that ref names, and completes its name.
func (z *Zone) resolve(ref *KeyRef) (keys [][]byte, err error) {
	if ref.Stored == "" {
		return z.keysOf(&ref.Key)
	}
	if ref.Text != "" || ref.Base64 != "" {
		return nil, errors.New("there are both key_stored and a key: use one of them")
	}
	key, err := base64.StdEncoding.DecodeString(ref.Stored)
	if err != nil {
		return nil, errNotStored
	}
	name, exact := z.nameOf(key)
	if !exact && name.Text == "" && name.Base64 == "" && !keytemplate.IsDigest(key) {
		return nil, errNotStored
	}
	name.Missing = name.Missing || ref.Missing // it is not seen in a digest
	ref.Key = name
	return [][]byte{key}, nil
}
