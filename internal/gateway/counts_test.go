package gateway

import (
	"slices"
	"strings"
	"testing"

	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/internal/key/keytemplate"
	"github.com/fleetlimit/fleetlimit/internal/operate/inspect"
	"github.com/fleetlimit/fleetlimit/rules"
)

// An endpoint without a limit of its own has no count of its own. Operators see and change the
// count of the zone once.
func TestSharedCountIsOne(t *testing.T) {
	const name = "shared-count"
	h := provisioned(t, `{"log_rejections": "none", "rate_limits": {"`+name+`": {"key": "{http.request.header.X-Api-Key}",
		"limit": "10/1000h", "tier": {"tiers": {"pro": "20/1000h"}, "keys": [{"glob": "pro-*", "tier": "pro"}]},
		"endpoints": [{"path": "/cost", "cost": 2}, {"path": "/pro", "cost": 2, "tiers": {"pro": "6/1000h"}}]}}}`)
	for key, want := range map[string][]string{"k": {""}, "pro-k": {"", "/pro"}} {
		h.admitted(t, key, "/")
		h.admitted(t, key, "/pro")
		counts, err := inspect.CountsOf(h.app.rulesInForce(), &inspect.KeyRef{Key: rules.Key{Zone: name, Text: key}}, "")
		if err != nil || len(counts) != len(want) {
			t.Errorf("counts of %s = %+v, %v, want those of %q", key, counts, err, want)
		}
		request := new(api.InspectRequest)
		request.Key = key
		inspection, err := inspect.Key(t.Context(), running().Snapshot, running().Store, name, request)
		if err != nil {
			t.Fatal(err)
		}
		var inspected []string
		for _, c := range inspection.Counts {
			inspected = append(inspected, c.Endpoint)
		}
		if slices.Sort(inspected); !slices.Equal(inspected, want) {
			t.Errorf("inspected counts of %s = %q, want those of %q", key, inspected, want)
		}
		var top []string
		listed, err := running().Top(t.Context(), name, &api.TopQuery{Most: 10})
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range listed.Keys {
			if k.Hash == keytemplate.Hash(key) {
				top = append(top, k.Endpoint)
			}
		}
		if slices.Sort(top); !slices.Equal(top, want) {
			t.Errorf("top counts of %s = %q, want those of %q", key, top, want)
		}
	}
	if _, err := inspect.CountsOf(h.app.rulesInForce(), &inspect.KeyRef{Key: rules.Key{Zone: name, Text: "k"}}, "/cost"); err == nil ||
		!strings.Contains(err.Error(), "that has a limit of its own, or none") {
		t.Errorf("counts at /cost: %v, want an error", err)
	}

	var listed []string
	for _, l := range inspect.Zone(running().Snapshot, name).Limits {
		for _, tier := range l.Tiers {
			listed = append(listed, l.Endpoint+" "+tier.Tier)
		}
	}
	if want := []string{"/pro pro", " ", " pro"}; !slices.Equal(listed, want) {
		t.Errorf("limits of the zone = %q, want %q", listed, want)
	}

	schema := h.app.set.Overrides(name, nil)
	if err := schema(&rules.Override{Key: rules.Key{Zone: name, Text: "k"}, Endpoint: "/cost", Multiplier: 2}); err == nil ||
		!strings.Contains(err.Error(), "endpoint /cost has no limit of its own: use the override without `endpoint`") {
		t.Errorf("an override at /cost: %v, want an error", err)
	}
	putRules(t, h, `{"overrides": [{"id": "1", "zone": "`+name+`", "key": "x", "endpoint": "/pro", "limit": "9/1000h"}]}`)
	if got := h.admitted(t, "x", "/pro"); got != 5 {
		t.Errorf("%d requests to /pro are admitted, want 5: the override is for its own count, which the key has not", got)
	}
}
