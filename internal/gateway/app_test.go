package gateway

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/fleetlimit/fleetlimit/config"
)

// jsonApp returns an app from its JSON configuration. The end of the test cleans it up.
func jsonApp(t *testing.T, config string) *App {
	t.Helper()
	a := new(App)
	if err := json.Unmarshal([]byte(config), a); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Cleanup() })
	return a
}

// provisionedApp returns a provisioned app from its JSON configuration.
func provisionedApp(t *testing.T, config string) *App {
	t.Helper()
	a := jsonApp(t, config)
	ctx, err := caddy.ProvisionContext(&caddy.Config{Admin: &caddy.AdminConfig{Disabled: true}})
	if err == nil {
		err = a.Provision(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestCleanupReleasesOnce cleans up an app twice, as Caddy may. Another app uses the store
// meanwhile.
func TestCleanupReleasesOnce(t *testing.T) {
	const redis = `{"redis": {"addresses": ["192.0.2.1:6379"]}}`
	earlier, later := provisionedApp(t, redis), provisionedApp(t, redis)
	earlier.Cleanup()
	earlier.Cleanup()
	if again := provisionedApp(t, redis); again.store != later.store {
		t.Error("a third app has another store, want the one that the second uses")
	}
}

func TestAppProvisionRefuses(t *testing.T) {
	const redis = `"redis": {"addresses": ["localhost:1"]}`
	for _, tc := range []struct{ config, want string }{
		{`{"defaults": {"mode": "fast"}}`, `defaults: mode is "fast"`},
		{`{"defaults": {"on_outage": "wait"}}`, `defaults: on_outage is "wait"`},
		{`{"tiers": {"pro": {"mode": "strict"}}}`, `tier "pro" has no limit`},
		{`{"tiers": {"pro": {"events": 1}}}`, `tier "pro": `},
		{`{"tiers": {"pro": {"events": 1, "window": "1s", "mode": "fast"}}}`, `tier "pro": mode is "fast"`},
		{`{"nodes": 5}`, "use `redis`, or leave out `nodes`"},
		{`{"nodes": -1, ` + redis + `}`, "nodes is -1: use 1 to 10000"},
		{`{"nodes": 10001, ` + redis + `}`, "nodes is 10001: use 1 to 10000"},
	} {
		a := new(App)
		if err := json.Unmarshal([]byte(tc.config), a); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := caddy.NewContext(caddy.Context{Context: t.Context()})
		err := a.Provision(ctx)
		cancel()
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("Provision of %s = %v, want an error with %q", tc.config, err, tc.want)
		}
		if err := a.Cleanup(); err != nil {
			t.Errorf("Cleanup = %v", err)
		}
	}
}

// TestDefine defines one zone twice.
func TestDefine(t *testing.T) {
	for _, tc := range []struct {
		name, earlier, later string
		err, warns           bool
	}{
		{"equal", `{"key": "k", "limit": {"block": true}}`, `{"limit": {"block": true}, "key": "k"}`, false, false},
		{"other requests", `{"key": "k"}`, `{"key": "k", "match": [{"path": ["/a"]}]}`, false, false},
		{"another place", `{"key": "k", "place": "Caddyfile:3"}`, `{"key": "k", "place": "Caddyfile:9"}`, false, false},
		{"limit as text", `{"key": "k", "limit": {"events": 60, "window": "1m"}}`, `{"key": "k", "limit": "60/m"}`, false, false},
		{"another limit", `{"key": "k", "limit": {"block": true}}`, `{"key": "k", "limit": {"unlimited": true}}`, true, false},
		{"another mode", `{"key": "k"}`, `{"key": "k", "mode": "strict"}`, true, false},
		{"both legacy", `{"key": "k", "window": "1s"}`, `{"key": "k", "window": "2s"}`, false, true},
		{"one legacy", `{"key": "k", "window": "1s"}`, `{"key": "k"}`, true, false},
	} {
		a := new(App)
		core, logs := observer.New(zap.WarnLevel)
		var err error
		for _, text := range []string{tc.earlier, tc.later} {
			z := new(config.Zone)
			if err := json.Unmarshal([]byte(text), z); err != nil {
				t.Fatal(err)
			}
			err = a.define("api", z, zap.New(core))
		}
		if (err != nil) != tc.err || (logs.Len() > 0) != tc.warns {
			t.Errorf("%s: error %v, %d warnings; want an error: %v, a warning: %v", tc.name, err, logs.Len(), tc.err, tc.warns)
		}
	}
}
