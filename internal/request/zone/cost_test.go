package zone

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/internal/key/keytemplate"
)

func TestCostOfRequest(t *testing.T) {
	z := compiledZone(t, `{"key": "k", "limit": {"events": 10, "window": "1m", "burst": 20}, "cost": {"placeholder": "{http.vars.cost}"}}`)
	e := z.configured.endpoints[0]
	for _, tc := range []struct {
		value    string
		want     int64
		presence keytemplate.Presence
	}{
		{"7", 7, keytemplate.Present},
		{" 20 ", 20, keytemplate.Present},
		{"21", 20, keytemplate.Present},
		{"99999999999999999999", 20, keytemplate.Present},
		{"", 1, keytemplate.Missing},
		{"0", 1, keytemplate.Missing},
		{"-5", 1, keytemplate.Missing},
		{"-99999999999999999999", 1, keytemplate.Missing},
		{"many", 1, keytemplate.Missing},
		{"1.5", 1, keytemplate.Missing},
	} {
		r := requestFrom("192.0.2.1")
		caddyhttp.SetVar(r.Context(), "cost", tc.value)
		if got, presence := e.cost.eventsOf(e.rules[noTier], r, nil); got != tc.want || presence != tc.presence {
			t.Errorf("cost %q = %d, presence %v; want %d, %v", tc.value, got, presence, tc.want, tc.presence)
		}
	}
}

func TestNewCost(t *testing.T) {
	if c, err := newCost(nil); err != nil || c.fixed != 1 {
		t.Errorf("default cost = %d, %v; want 1", c.fixed, err)
	}
	for _, tc := range []struct {
		config config.Cost
		want   string
	}{
		{config.Cost{}, "use 1 or more"},
		{config.Cost{Events: -1}, "use 1 or more"},
		{config.Cost{Events: 1, Placeholder: "{http.vars.cost}"}, "use one of them"},
		{config.Cost{Placeholder: "{http.request.header.Cost}"}, "use `trusted`"},
	} {
		if _, err := newCost(&tc.config); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("newCost(%+v) = %v, want an error with %q", tc.config, err, tc.want)
		}
	}
}

func TestCostFromEnvironment(t *testing.T) {
	const zone = `{"key": "k", "limit": {"events": 10, "window": "1m"}, "cost": {"placeholder": "{env.FLEETLIMIT_TEST_COST}"}}`
	t.Setenv("FLEETLIMIT_TEST_COST", "7")
	if z := compiledZone(t, zone); z.configured.endpoints[0].cost.fixed != 7 {
		t.Errorf("cost = %d, want 7", z.configured.endpoints[0].cost.fixed)
	}
	for value, want := range map[string]string{
		"11":   "cost is 11, but at most 10 can pass at once: use a lower cost",
		"many": "cost: {env.FLEETLIMIT_TEST_COST} is \"many\" when the configuration loads: use a number from 1",
		"0":    "use a number from 1",
		"1.5":  "use a number from 1",
	} {
		t.Setenv("FLEETLIMIT_TEST_COST", value)
		settings := new(config.Zone)
		if err := json.Unmarshal([]byte(zone), settings); err != nil {
			t.Fatal(err)
		}
		if _, err := new(Set).New("api", settings, Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("cost %s: error %v, want one with %q", value, err, want)
		}
	}
}
