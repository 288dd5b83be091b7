package fleetlimit

import (
	"strings"
	"testing"
)

// parseZones parses a directive with these zones.
func parseZones(t *testing.T, zones string) error {
	t.Helper()
	p := directiveParser{Dispenser: dispenser(t, "rate_limit {\n"+zones+"\n}"), h: new(Handler), app: new(App)}
	return p.parse()
}

// TestEnvironmentIsReadWhenConfigurationLoads adapts a Caddyfile without the environment of the
// machine that runs it.
func TestEnvironmentIsReadWhenConfigurationLoads(t *testing.T) {
	for _, zone := range []string{
		"key {env.FLEETLIMIT_TEST_UNSET}-{client_ip}\nlimit 1/s",
		"key k\nlimit 1/s\non_missing_key {env.FLEETLIMIT_TEST_UNSET}",
		"key k\nlimit 5/s\ncost {env.FLEETLIMIT_TEST_UNSET}",
	} {
		if err := parseZones(t, "zone api {\n"+zone+"\n}"); err != nil {
			t.Errorf("%q is refused: %v", zone, err)
		}
	}
}

// TestLastLegacyZoneWins repeats a name, which caddy-ratelimit allows.
func TestLastLegacyZoneWins(t *testing.T) {
	const legacy = "zone api {\nkey k\nevents 5\nwindow 1m\n}\n"
	if err := parseZones(t, legacy+legacy); err != nil {
		t.Errorf("two zones of caddy-ratelimit: %v", err)
	}
	err := parseZones(t, legacy+"zone api {\nkey k\nlimit 5/1m\n}")
	if err == nil || !strings.Contains(err.Error(), "already specified at Caddyfile:2") {
		t.Errorf("a zone of caddy-ratelimit and another: error %v, want the place of the first", err)
	}
}
