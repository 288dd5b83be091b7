package gateway

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/internal/observe/usage"
)

// zonesInUse returns the zones that have counters, except the zone of emergency mode, which always
// keeps them.
func zonesInUse() []*usage.ZoneCounters {
	return slices.DeleteFunc(usage.All(), func(z *usage.ZoneCounters) bool { return z.Name == api.EmergencyZone })
}

// The configurations are in JSON, so no Caddyfile parser has checked them.
func TestProvisionRefuses(t *testing.T) {
	for _, tc := range []struct{ name, config, want string }{
		{"nothing", `{}`, "use at least one zone"},
		{"null zone", `{"rate_limits": {"z": null}}`, `zone "z": is not defined: use a block`},
		{"name", `{"rate_limits": {"a b": {"key": "k", "limit": {"events": 1, "window": "1s"}}}}`, "use 1 to 64 of the characters"},
		{"no key", `{"rate_limits": {"z": {"limit": {"events": 1, "window": "1s"}}}}`, "no key: use `key`"},
		{"no limit", `{"rate_limits": {"z": {"key": "k"}}}`, "no limit: use one"},
		{"endpoint without limit", `{"rate_limits": {"z": {"key": "k", "endpoints": [{"path": "/a", "cost": 2}]}}}`, "endpoint 1 (/a): no limit"},
		{"endpoint without effect", `{"rate_limits": {"z": {"key": "k", "limit": {"block": true}, "endpoints": [{"path": "/a"}]}}}`,
			"endpoint 1 (/a): has neither a limit nor a cost, so it changes nothing: use `endpoint <path> <rate>`"},
		{"endpoint with a mode and no limit", `{"rate_limits": {"z": {"key": "k", "limit": {"block": true},
			"endpoints": [{"path": "/a", "cost": 2, "mode": "strict"}]}}}`, "endpoint 1 (/a): mode needs a limit of its own"},
		{"endpoint with on_outage and no limit", `{"rate_limits": {"z": {"key": "k", "limit": {"block": true},
			"endpoints": [{"path": "/a", "on_outage": "closed"}]}}}`, "on_outage needs a limit of its own"},
		{"endpoint with an algorithm and no limit", `{"rate_limits": {"z": {"key": "k", "limit": {"block": true},
			"endpoints": [{"path": "/a", "algorithm": "fixed_window"}]}}}`, "algorithm needs a limit of its own"},
		{"tier of an endpoint with a mode and no limit", `{"rate_limits": {"z": {"key": "k", "limit": {"block": true},
			"tier": {"default": "pro", "tiers": {"pro": {"unlimited": true}}},
			"endpoints": [{"path": "/a", "cost": 2, "tiers": {"pro": {"mode": "strict"}}}]}}}`,
			"tier \"pro\": mode needs a limit of its own: use `pro <rate>`"},
		{"endpoint of another router", `{"rate_limits": {"z": {"key": "k", "limit": {"block": true}, "endpoints": [{"path": "/a/:id"}]}}}`,
			"endpoint 1 (/a/:id): path"},
		{"method", `{"rate_limits": {"z": {"key": "k", "limit": {"block": true},
			"endpoints": [{"methods": ["gets"], "path": "/a"}]}}}`, "use GET"},
		{"shadowed endpoint", `{"rate_limits": {"z": {"key": "k", "limit": {"block": true},
			"endpoints": [{"path": "/b", "cost": 2}, {"path": "/a*", "cost": 2}, {"methods": ["get"], "path": "/a", "cost": 2}]}}}`,
			"endpoint GET /a gets no request, because /a* at place 2"},
		{"null endpoint", `{"rate_limits": {"z": {"key": "k", "endpoints": [null]}}}`, "endpoint 1 is empty"},
		{"events 0", `{"rate_limits": {"z": {"key": "k", "limit": {"window": "1s"}}}}`, "use block"},
		{"two kinds of limit", `{"rate_limits": {"z": {"key": "k", "limit": {"block": true, "unlimited": true}}}}`, "use only one of"},
		{"no window", `{"rate_limits": {"z": {"key": "k", "limit": {"events": 1}}}}`, "use a duration, such as"},
		{"long window", `{"rate_limits": {"z": {"key": "k", "limit": {"events": 1, "window": 315360001000000000}}}}`,
			"window 87600h0m1s is too long: use 3650d or less"},
		{"fine window", `{"rate_limits": {"z": {"key": "k", "limit": {"events": 1, "window": 1000001}}}}`, "use whole microseconds"},
		{"events", `{"rate_limits": {"z": {"key": "k", "limit": {"events": -5, "window": "1s"}}}}`, "events is -5: use 1 to"},
		{"negative burst", `{"rate_limits": {"z": {"key": "k", "limit": {"events": 5, "window": "1s", "burst": -1}}}}`,
			"burst is -1: use 1 to"},
		{"algorithm", `{"rate_limits": {"z": {"key": "k", "limit": {"events": 1, "window": "1s"}, "algorithm": {"name": "leaky"}}}}`,
			`algorithm is "leaky": use token_bucket, sliding_window_log`},
		{"subwindows", `{"rate_limits": {"z": {"key": "k", "limit": "1/s", "algorithm": {"name": "sliding_window", "subwindows": 1001}}}}`,
			"subwindows is 1001: use 1 to 1000"},
		{"burst", `{"rate_limits": {"z": {"key": "k", "limit": {"events": 1, "window": "1s", "burst": 2},
			"algorithm": {"name": "fixed_window"}}}}`, "use token_bucket"},
		{"cost above the limit", `{"rate_limits": {"z": {"key": "k", "limit": {"events": 1, "window": "1s"}, "cost": {"events": 2}}}}`,
			"use a lower cost"},
		{"cost of a client", `{"rate_limits": {"z": {"key": "k", "limit": {"events": 1, "window": "1s"},
			"cost": {"placeholder": "{http.request.header.Cost}"}}}}`, "use `trusted`"},
		{"tier of a client", `{"rate_limits": {"z": {"key": "k", "limit": {"events": 1, "window": "1s"},
			"tier": {"placeholder": "{http.request.header.Tier}", "tiers": {"pro": {"unlimited": true}}}}}}`, "use `trusted`"},
		{"tier without limit", `{"rate_limits": {"z": {"key": "k", "tier": {"placeholder": "{http.vars.tier}", "tiers": {"pro": null}}}}}`,
			`"pro" has no limit`},
		{"keys without a tier", `{"rate_limits": {"z": {"key": "k", "tier": {"placeholder": "{http.vars.tier}",
			"tiers": {"pro": {"unlimited": true}}}}}}`, "keys without a tier have no limit"},
		{"prefix", `{"rate_limits": {"z": {"key": "k", "ipv4_prefix": 33, "limit": {"events": 1, "window": "1s"}}}}`, "use 0 to 32"},
		{"max_keys", `{"rate_limits": {"z": {"key": "k", "max_keys": -1, "limit": {"events": 1, "window": "1s"}}}}`, "max_keys is -1: use 1 or more"},
		{"both syntaxes", `{"rate_limits": {"z": {"key": "k", "window": "1s", "max_events": 1, "limit": {"block": true}}}}`, "use only `limit`"},
		{"mode", `{"rate_limits": {"z": {"key": "k", "mode": "fast", "limit": {"events": 1, "window": "1s"}}}}`, `mode is "fast"`},
		{"mode of a tier", `{"rate_limits": {"z": {"key": "k", "limit": {"events": 1, "window": "1s"},
			"tier": {"default": "pro", "tiers": {"pro": {"unlimited": true, "mode": "fast"}}}}}}`, `tier: "pro": mode is "fast"`},
		{"mode of an endpoint", `{"rate_limits": {"z": {"key": "k", "limit": {"events": 1, "window": "1s"},
			"endpoints": [{"path": "/a", "mode": "fast"}]}}}`, `endpoint 1 (/a): mode is "fast"`},
		{"mode of an endpoint's tier", `{"rate_limits": {"z": {"key": "k", "limit": {"events": 1, "window": "1s"},
			"tier": {"default": "pro", "tiers": {"pro": {"unlimited": true}}},
			"endpoints": [{"path": "/a", "tiers": {"pro": {"mode": "fast"}}}]}}}`, `tier "pro": mode is "fast"`},
		{"empty tier of an endpoint", `{"rate_limits": {"z": {"key": "k", "limit": {"events": 1, "window": "1s"},
			"tier": {"default": "pro", "tiers": {"pro": {"unlimited": true}}},
			"endpoints": [{"path": "/a", "tiers": {"pro": {}}}]}}}`, `tier "pro" is empty`},
		{"mode of a legacy zone", `{"rate_limits": {"z": {"key": "k", "window": "1s", "max_events": 1, "mode": "strict"}}}`,
			"algorithm, tier, endpoint, cost, count_status, wait, charge, compare, mode"},
		{"on_ambiguous_key", `{"rate_limits": {"z": {"key": "k", "on_ambiguous_key": "skip", "limit": {"events": 1, "window": "1s"}}}}`,
			"use reject or missing"},
		{"name of emergency mode", `{"rate_limits": {"(emergency)": {"key": "k", "window": "1s", "max_events": 1}}}`,
			"use another one"},
		{"on_ambiguous_key of a legacy zone", `{"rate_limits": {"z": {"key": "k", "window": "1s", "max_events": 1,
			"on_ambiguous_key": "reject"}}}`, "has no on_ambiguous_key"},
		{"headers", `{"allow": ["10.0.0.0/8"], "headers": "some"}`, "use x, draft, all or none"},
		{"reject", `{"allow": ["10.0.0.0/8"], "reject": "html"}`, "use json, problem or error"},
		{"log_rejections", `{"allow": ["10.0.0.0/8"], "log_rejections": "some"}`, "use first, all or none"},
		{"jitter", `{"allow": ["10.0.0.0/8"], "jitter": 20}`, "use a fraction"},
		{"address", `{"deny": ["example.com"]}`, "deny: "},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ctx, err := caddy.ProvisionContext(&caddy.Config{Admin: &caddy.AdminConfig{Disabled: true}})
			if err != nil {
				t.Fatal(err)
			}
			h := new(Handler)
			if err := json.Unmarshal([]byte(tc.config), h); err != nil {
				t.Fatal(err)
			}
			err = h.Provision(ctx)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Provision = %v, want an error with %q", err, tc.want)
			}
			if err := h.Cleanup(); err != nil {
				t.Errorf("Cleanup = %v", err)
			}
			if err := h.app.Cleanup(); err != nil {
				t.Errorf("Cleanup of the app = %v", err)
			}
		})
	}
	if got := zonesInUse(); len(got) != 0 {
		t.Errorf("zones in use after all were refused = %d, want 0", len(got))
	}
}

func TestWarnUnused(t *testing.T) {
	const settings = `{"allow": ["192.0.2.0/24"], "distributed": {}, "storage": {"module": "file_system"}}`
	for _, tc := range []struct {
		name  string
		redis *config.Redis
		want  []string
	}{
		{"memory", nil, []string{"counts are per node: N nodes admit N times the limit", "in the memory of this process"}},
		{"redis", new(config.Redis), []string{"the nodes share their counts in Redis", "counts are in Redis"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h, logs := scripted(t, settings, new(scriptedStore))
			h.app.Redis = tc.redis
			h.warnUnused()
			for i, line := range logs.All() {
				if !strings.Contains(line.Message, tc.want[i]) {
					t.Errorf("warning %d = %q, want one with %q", i, line.Message, tc.want[i])
				}
			}
			if logs.Len() != len(tc.want) {
				t.Errorf("warnings = %d, want %d", logs.Len(), len(tc.want))
			}
		})
	}
}
