package inspect

import (
	"bytes"
	"encoding/base64"
	"strings"
	"testing"

	"github.com/fleetlimit/fleetlimit/rules"
)

// A key as the store has it is resolved to itself, and named as operators write it.
func TestStoredKeys(t *testing.T) {
	z := inForce(t, `{"z": {"key": "{http.request.header.X-User}", "limit": "1/1s"}}`, `{}`).Set().Named("z")
	for _, tc := range []struct {
		name      string
		key, want rules.Key
	}{
		{"text", rules.Key{Text: "a"}, rules.Key{Zone: "z", Text: "a"}},
		{"no UTF-8", rules.Key{Base64: "//4="}, rules.Key{Zone: "z", Base64: "//4="}},
		{"digest", rules.Key{Text: strings.Repeat("x", 100)}, rules.Key{Zone: "z"}},
		{"missing", rules.Key{Text: "192.0.2.7", Missing: true}, rules.Key{Zone: "z", Text: "192.0.2.7", Missing: true}},
		{"no address", rules.Key{Missing: true}, rules.Key{Zone: "z", Missing: true}},
	} {
		keys, err := z.KeysOf(&tc.key)
		if err != nil {
			t.Fatalf("%s: %v", tc.name, err)
		}
		for _, key := range keys {
			ref := KeyRef{rules.Key{Zone: "z"}, base64.StdEncoding.EncodeToString(key)}
			stored, err := ref.resolve(z)
			if err != nil || len(stored) != 1 || !bytes.Equal(stored[0], key) || ref.Key != tc.want {
				t.Errorf("%s: stored key %q is %q named %+v, %v", tc.name, key, stored, ref.Key, err)
			}
		}
	}
	ref := KeyRef{Stored: "not a key"}
	if _, err := ref.resolve(z); err == nil {
		t.Error("a text that no key has is resolved")
	}
}
