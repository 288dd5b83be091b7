package inspect

import (
	"encoding/base64"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/internal/key/keytemplate"
	"github.com/fleetlimit/fleetlimit/internal/request/zone"
)

// shownKey returns what operators may see of a key of z that the store has. show says that it is no
// secret. A key that may be a secret is shown shortened.
func shownKey(z *zone.Zone, key []byte, show bool) (answer api.ShownKey) {
	name, exact := z.NameOf(key)
	answer.Missing = name.Missing
	text, _ := name.Bytes() // a digest has none
	if len(text) > 0 {
		answer.Hash = keytemplate.Hash(string(text))
	}
	if !show && !keytemplate.IsDigest(key) && !isAddress(z, key) {
		answer.Shortened = shortened(string(text))
		return answer
	}
	answer.Key, answer.Base64 = name.Text, name.Base64
	if !exact {
		answer.Stored = base64.StdEncoding.EncodeToString(key)
	}
	return answer
}

// shortened returns the first quarter of a key, at most eight characters of it.
func shortened(text string) string {
	runes := []rune(strings.ToValidUTF8(text, string(utf8.RuneError)))
	return string(runes[:min(len(runes)/4, 8)]) + "…"
}

// isAddress reports whether a key is the address of a client, which is no secret: logs have it.
func isAddress(z *zone.Zone, key []byte) bool {
	return slices.ContainsFunc(z.Templates, func(t *keytemplate.Template) bool { return t.IsAddress(key) })
}

// showsKeys reports whether operators may see the keys of a zone: each handler with the zone says
// so.
func showsKeys(s *zone.Snapshot, name string) bool {
	return !slices.ContainsFunc(s.Set().ZonesCalled(name), func(z *zone.Zone) bool { return !z.LogKey })
}
