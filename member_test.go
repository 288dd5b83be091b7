package fleetlimit

import (
	"encoding/json"
	"testing"

	"go.uber.org/zap"
)

// TestFleetDefinition compares the definitions of one zone on two nodes.
func TestFleetDefinition(t *testing.T) {
	const app = `{"tiers": {"pro": {"events": 9, "window": "1m"}}, "defaults": {"headers": "x"}}`
	const zone = `{"key": "k", "limit": {"events": 5, "window": "1m"},
		"tier": {"placeholder": "{http.vars.t}", "tiers": {"free": {"events": 5, "window": "1m"}, "pro": null}},
		"endpoints": [{"path": "/a", "tiers": {"free": {"events": 6, "window": "1m"}}}]}`
	want := definitionOf(t, app, zone)
	for _, test := range []struct {
		name, app, zone string
		same            bool
	}{
		{"other requests", app, `{"match": [{"path": ["/b"]}], ` + zone[1:], true},
		{"another consistency", `{"tiers": {"pro": {"events": 9, "window": "1m", "mode": "strict"}},
			"defaults": {"mode": "strict", "max_overshoot": 0.5}, "nodes": 20}`,
			`{"key": "k", "limit": {"events": 5, "window": "1m"}, "mode": "strict", "max_overshoot": 0,
			"tier": {"placeholder": "{http.vars.t}", "tiers": {"free": {"events": 5, "window": "1m", "mode": "lease"},
				"pro": {"max_overshoot": 0.5}}},
			"endpoints": [{"path": "/a", "mode": "lease", "max_overshoot": 0, "tiers":
				{"free": {"events": 6, "window": "1m", "max_overshoot": 1}, "pro": {"mode": "strict"}}}]}`, true},
		{"another limit", app, `{"key": "k", "limit": {"events": 6, "window": "1m"}}`, false},
		{"another limit of a tier", `{"tiers": {"pro": {"events": 8, "window": "1m"}}}`, zone, false},
		{"another algorithm", `{"tiers": {"pro": {"events": 9, "window": "1m"}}, "defaults": {"algorithm": {"name": "fixed_window"}}}`,
			zone, false},
		{"one tier fewer", app, `{"key": "k", "limit": {"events": 5, "window": "1m"},
			"tier": {"placeholder": "{http.vars.t}", "tiers": {"free": {"events": 5, "window": "1m"}}},
			"endpoints": [{"path": "/a", "tiers": {"free": {"events": 6, "window": "1m"}}}]}`, false},
	} {
		if got := definitionOf(t, test.app, test.zone); (got == want) != test.same {
			t.Errorf("%s: definitions\n%s\n%s\nare the same: %t, want %t", test.name, want, got, got == want, test.same)
		}
	}
}

// TestOneSubwindowIsDefault checks that `sliding_window` and `sliding_window 1` are one rule.
func TestOneSubwindowIsDefault(t *testing.T) {
	const plain = `{"key": "k", "limit": {"events": 5, "window": "1m"}, "algorithm": {"name": "sliding_window"}}`
	const one = `{"key": "k", "limit": {"events": 5, "window": "1m"}, "algorithm": {"name": "sliding_window", "subwindows": 1}}`
	const two = `{"key": "k", "limit": {"events": 5, "window": "1m"}, "algorithm": {"name": "sliding_window", "subwindows": 2}}`
	id := func(config string) uint32 {
		t.Helper()
		h := provisioned(t, `{"rate_limits": {"`+t.Name()+`": `+config+`}}`)
		return h.zones[0].endpoints[0].rules[noTier].ID
	}
	if id(plain) != id(one) || id(plain) == id(two) {
		t.Errorf("rules of no, 1 and 2 sub-windows: %d, %d and %d; want the first two equal", id(plain), id(one), id(two))
	}
	if a, b := definitionOf(t, "{}", plain), definitionOf(t, "{}", one); a != b {
		t.Errorf("definitions\n%s\n%s\ndiffer, but mean the same", a, b)
	}
	if a, b := definitionOf(t, "{}", plain), definitionOf(t, "{}", two); a == b {
		t.Errorf("definition of 2 sub-windows is that of 1: %s", a)
	}
}

// definitionOf returns the definition of a zone in the fleet.
func definitionOf(t *testing.T, app, zone string) string {
	t.Helper()
	a, z := new(App), new(Zone)
	if err := json.Unmarshal([]byte(app), a); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(zone), z); err != nil {
		t.Fatal(err)
	}
	if a.Defaults != nil {
		a.defaults = *a.Defaults
	}
	if err := a.define("api", z, zap.NewNop()); err != nil {
		t.Fatal(err)
	}
	return a.fleetDefinitions()["api"]
}
