package config

import (
	"strings"
	"testing"
)

// parseZones parses a directive with these zones.
func parseZones(t *testing.T, zones string) error {
	t.Helper()
	return new(Handler).ParseCaddyfile(dispenser(t, "rate_limit {\n"+zones+"\n}"), Caddyfile{App: new(App)})
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
