package gateway

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"go.uber.org/zap"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/internal/fleet/membership"
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
		{"another enforcement", `{"tiers": {"pro": {"events": 9, "window": "1m", "mode": "strict"}},
			"defaults": {"mode": "strict", "on_outage": "open"}, "nodes": 20}`,
			`{"key": "k", "limit": {"events": 5, "window": "1m"}, "mode": "strict", "on_outage": "closed",
			"tier": {"placeholder": "{http.vars.t}", "tiers": {"free": {"events": 5, "window": "1m", "mode": "lease"},
				"pro": {"on_outage": "local"}}},
			"endpoints": [{"path": "/a", "mode": "lease", "on_outage": "open", "tiers":
				{"free": {"events": 6, "window": "1m", "on_outage": "closed"}, "pro": {"mode": "strict"}}}]}`, true},
		{"another limit", app, `{"key": "k", "limit": {"events": 6, "window": "1m"}}`, false},
		{"a limit of requests without a key", app, strings.Replace(zone, "{", `{"on_missing_limit": {"events": 5, "window": "1m"}, `, 1),
			false},
		{"another limit of a tier", `{"tiers": {"pro": {"events": 8, "window": "1m"}}}`, zone, false},
		{"another algorithm", `{"tiers": {"pro": {"events": 9, "window": "1m"}}, "defaults": {"algorithm": {"name": "fixed_window"}}}`,
			zone, false},
		{"one tier fewer", app, `{"key": "k", "limit": {"events": 5, "window": "1m"},
			"tier": {"placeholder": "{http.vars.t}", "tiers": {"free": {"events": 5, "window": "1m"}}},
			"endpoints": [{"path": "/a", "tiers": {"free": {"events": 6, "window": "1m"}}}]}`, false},
	} {
		if got := definitionOf(t, test.app, test.zone); maps.Equal(got, want) != test.same {
			t.Errorf("%s: definitions\n%v\n%v\nare the same: %t, want %t", test.name, want, got, !test.same, test.same)
		}
	}
}

// definitionOf returns the definition of a zone in the fleet.
func definitionOf(t *testing.T, app, zone string) membership.Definition {
	t.Helper()
	a, z := new(App), new(config.Zone)
	if err := json.Unmarshal([]byte(app), a); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(zone), z); err != nil {
		t.Fatal(err)
	}
	if err := a.define("api", z, zap.NewNop()); err != nil {
		t.Fatal(err)
	}
	return a.fleetDefinitions()["api"]
}
