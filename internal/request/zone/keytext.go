package zone

import (
	"bytes"
	"encoding/base64"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/fleetlimit/fleetlimit/internal/key/keytemplate"
	"github.com/fleetlimit/fleetlimit/rules"
)

// NameOf returns how operators write a key that the store has. It is exact if it names that key:
// not if the text is not known, because the key is a digest, or if it is the text of several keys.
func (z *Zone) NameOf(key []byte) (name rules.Key, exact bool) {
	name = rules.Key{Zone: z.Name, Missing: keytemplate.IsSubstitute(key)}
	for _, t := range z.Templates {
		text, ok := t.TextOf(key)
		if !ok {
			continue
		}
		name.Text, name.Base64 = text, ""
		if !utf8.ValidString(text) {
			name.Text, name.Base64 = "", base64.StdEncoding.EncodeToString([]byte(text))
		}
		keys, err := z.KeysOf(&name)
		if err == nil && slices.ContainsFunc(keys, func(other []byte) bool { return bytes.Equal(other, key) }) {
			return name, true
		}
	}
	return name, false
}

// canonical returns k as requests have it: there are several texts of an address, which counts by
// its prefix, or of a host. It returns k itself if no request has it.
func (z *Zone) canonical(k rules.Key) rules.Key {
	spaces := strings.Trim(k.Text, " \t") != k.Text
	templates := z.templatesOf(&k)
	if !spaces && !slices.ContainsFunc(templates, (*keytemplate.Template).Respells) {
		return k
	}
	keys, err := z.KeysOf(&k)
	if err != nil {
		return k
	}
	if text, known := templates[0].TextOf(keys[0]); known && text == k.Text {
		return k // as most entries are
	}
	name, exact := z.NameOf(keys[0])
	others, _ := z.KeysOf(&name)
	if !exact || name.Missing != k.Missing || !slices.EqualFunc(keys, others, bytes.Equal) {
		return k
	}
	was, _ := k.Bytes()
	if is, _ := name.Bytes(); bytes.Equal(is, was) {
		return k // in base64, perhaps
	}
	return name
}

// KeyName returns how operators write a key of a request. "" is that of clients without an address,
// or of a key that is only known as a digest.
func (z *Zone) KeyName(key []byte) string {
	name, _ := z.NameOf(key)
	if name.Text == "" {
		return name.Base64
	}
	return name.Text
}
