package config

import (
	"encoding/json"
	"testing"
)

// A use of the app's zone has all its settings, and may match other requests.
func TestDefinitionFor(t *testing.T) {
	a := new(App)
	err := json.Unmarshal([]byte(`{"zones":{"user":{"match":[{"method":["GET"]}],"key":"k","limit":"10/1m","place":"Caddyfile:3"}}}`), a)
	if err != nil {
		t.Fatal(err)
	}
	shared := a.Zones["user"]
	for _, tc := range []struct{ use, match string }{
		{`null`, `[{"method":["GET"]}]`},
		{`{"place":"Caddyfile:9"}`, `[{"method":["GET"]}]`},
		{`{"match":[{"path":["/a"]}]}`, `[{"path":["/a"]}]`},
	} {
		var use *Zone
		if err := json.Unmarshal([]byte(tc.use), &use); err != nil {
			t.Fatal(err)
		}
		z, err := a.Zones.DefinitionFor("user", use)
		if err != nil {
			t.Fatal(err)
		}
		match, _ := json.Marshal(z.MatcherSetsRaw)
		if z.Definition() != shared.Definition() || string(match) != tc.match || z.Place != shared.Place {
			t.Errorf("%s is %s that matches %s, at %s", tc.use, z.Definition(), match, z.Place)
		}
		z.MatcherSetsRaw = nil // as Caddy does when it loads them
		if shared.MatcherSetsRaw == nil {
			t.Error("loading the matchers of a use removes them from the app's zone")
		}
	}
}
