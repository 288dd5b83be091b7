package zone

import (
	"strings"
	"testing"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/internal/observe/usage"
	"github.com/fleetlimit/fleetlimit/rules"
)

// The keys that requests have in a zone are named by what operators write. What it names is the
// key.
func TestNameOf(t *testing.T) {
	long := strings.Repeat("x", 100)
	for _, tc := range []struct {
		name  string
		zone  config.Zone
		key   rules.Key // of requests
		want  rules.Key
		exact bool
	}{
		{"text", config.Zone{Key: "{header.X-User}"}, rules.Key{Text: "a"}, rules.Key{Text: "a"}, true},
		{"no UTF-8", config.Zone{Key: "{header.X-User}"}, rules.Key{Base64: "//4="}, rules.Key{Base64: "//4="}, true},
		{"digest", config.Zone{Key: "{header.X-User}"}, rules.Key{Text: long}, rules.Key{}, false},
		{"shared", config.Zone{Key: "everyone"}, rules.Key{Text: "everyone"}, rules.Key{Text: "everyone"}, true},
		{"address", config.Zone{Key: clientIP}, rules.Key{Text: "2001:db8::7"}, rules.Key{Text: "2001:db8::/64"}, true},
		{"like an address", config.Zone{Key: "{header.X-User}"}, rules.Key{Text: "192.0.2.0/24"}, rules.Key{Text: "192.0.2.0/24"}, true},
		{"missing", config.Zone{Key: "{header.X-User}"}, rules.Key{Text: "192.0.2.7", Missing: true}, rules.Key{Text: "192.0.2.7", Missing: true}, true},
		{
			"missing, other template", config.Zone{Key: "{header.X-User}", OnMissingKey: "{header.X-Device}"},
			rules.Key{Text: "d1", Missing: true}, rules.Key{Text: "d1", Missing: true}, true,
		},
		{
			"ambiguous cookie", config.Zone{Key: "{cookie.id}", OnMissingKey: "{header.X-Device}-{header.X-Model}"},
			rules.Key{Text: "192.0.2.7", Missing: true}, rules.Key{Text: "192.0.2.7", Missing: true}, true,
		},
		{"no address", config.Zone{Key: "{header.X-User}"}, rules.Key{Missing: true}, rules.Key{Missing: true}, true},
		{
			"all without a key", config.Zone{Key: "{header.X-User}", OnMissingKey: "shared"},
			rules.Key{Missing: true}, rules.Key{Text: "shared", Missing: true}, true,
		},
	} {
		tc.zone.Limit = &config.Limit{Events: 1, Window: 1e9}
		z, err := new(Set).New("z", &tc.zone, Options{})
		if err != nil {
			t.Fatalf("%s: %v", tc.name, err)
		}
		z.Usage = &usage.ZoneCounters{Name: "z"}
		tc.key.Zone, tc.want.Zone = "z", "z"
		keys, err := z.KeysOf(&tc.key)
		if err != nil {
			t.Fatalf("%s: %v", tc.name, err)
		}
		for _, key := range keys {
			name, exact := z.NameOf(key)
			if name != tc.want || exact != tc.exact {
				t.Errorf("%s: name of %q = %+v, %v; want %+v, %v", tc.name, key, name, exact, tc.want, tc.exact)
			}
		}
	}
}
