package config

import (
	"errors"
	"fmt"
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

// An error of CheckZone has the line of the outermost setting that it is about.
func TestErrorsHaveTheLineOfTheirSetting(t *testing.T) {
	mistake := errors.New("a mistake")
	for _, tc := range []struct {
		err  error
		line int
	}{
		{mistake, 2},
		{ErrorIn("limit", mistake), 4},
		{fmt.Errorf("more: %w", ErrorIn("limit", mistake)), 4},
		{&SettingError{Endpoint: 1, Err: ErrorIn("limit", mistake)}, 5},
		{ErrorIn("cost", &SettingError{Endpoint: 3, Err: mistake}), 2}, // the zone has no cost
		{&SettingError{Endpoint: 3, Err: mistake}, 2},
		{ErrorIn("limit", nil), 0},
	} {
		rest := Caddyfile{App: new(App), CheckZone: func(string, *Zone) error { return tc.err }}
		text := "rate_limit {\nzone api {\nkey k\nlimit 9/s\nendpoint /a 1/s\nendpoint /b 1/s\n}\n}"
		err := new(Handler).ParseCaddyfile(dispenser(t, text), rest)
		want := fmt.Sprintf("zone \"api\": %v, at Caddyfile:%d", tc.err, tc.line)
		if tc.line == 0 && err != nil || tc.line > 0 && (err == nil || err.Error() != want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}
