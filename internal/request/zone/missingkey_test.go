package zone

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/limiter"
)

func TestMissingKeyActions(t *testing.T) {
	const limit = `, "on_missing_limit": {"events": 1, "window": "1m"}`
	for _, test := range []struct {
		settings string
		action   missingAction
		key      string
		limited  bool
	}{
		{``, missingDefault, clientIP, false},
		{`, "on_missing_key": "skip"`, missingSkip, "", false},
		{`, "on_missing_key": "deny"`, missingDeny, "", false},
		{`, "on_missing_key": "shared"`, missingCount, "shared", false},
		{`, "on_missing_key": "{http.vars.id}"`, missingCount, "{http.vars.id}", false},
		{`, "on_missing_key": "a {http.vars.id}"`, missingCount, "a {http.vars.id}", false},
		{limit, missingCount, clientIP, true},
		{`, "on_missing_key": "shared"` + limit, missingCount, "shared", true},
		{`, "on_missing_key": "{http.vars.id}"` + limit, missingCount, "{http.vars.id}", true},
	} {
		z := compiledZone(t, `{"key": "{http.auth.user.id}", "limit": {"block": true}`+test.settings+`}`)
		key := ""
		if z.missing.key != nil {
			key = z.missing.key.String()
		}
		if z.missing.action != test.action || key != test.key || z.missing.limited != test.limited || len(z.Warnings) > 0 {
			t.Errorf("%q: action %v by %q, limited %t, warnings %v; want %v by %q, %t and none", test.settings,
				z.missing.action, key, z.missing.limited, z.Warnings, test.action, test.key, test.limited)
		}
	}
}

func TestMissingKeyRefuses(t *testing.T) {
	t.Setenv("FLEETLIMIT_TEST_WORD", "skip")
	const limit = `, "on_missing_limit": {"events": 1, "window": "1m"}`
	for _, test := range []struct{ settings, want string }{
		{`"on_missing_key": "reject"`, "use deny"},
		{`"on_missing_key": "block"`, "use deny"},
		{`"on_missing_key": "Deny"`, "use deny"},
		{`"on_missing_key": "allow"`, "use skip"},
		{`"on_missing_key": "none"`, "use skip"},
		{`"on_missing_key": "ignore"`, "use skip"},
		{`"on_missing_key": "Skip"`, "use skip"},
		{`"on_missing_key": "ip"`, "use {client_ip}"},
		{`"on_missing_key": "Client_IP"`, "use {client_ip}"},
		{`"on_missing_key": "remote_host"`, "use {remote_host}"},
		{`"on_missing_key": "static"`, "use shared"},
		{`"on_missing_key": "http.vars.id"`, "use {http.vars.id}"},
		{`"on_missing_key": "anonymous"`, "use `shared`"},
		{`"on_missing_key": "all of them"`, "use `shared`"},
		{`"on_missing_key": "skip "`, "use `shared`"},
		{`"on_missing_key": "{env.FLEETLIMIT_TEST_WORD}"`, "use shared"},
		{`"on_missing_key": "10/1m"`, "use `on_missing_key {client_ip} 10/1m` without quotes, or in JSON on_missing_limit"},
		{`"on_missing_key": "{http.vars.id} 10/1m burst 2"`, "use `on_missing_key {http.vars.id} 10/1m burst 2`"},
		{`"on_missing_key": "{http.vars.id}10/1m"`, "use `on_missing_key {http.vars.id} 10/1m`"},
		{`"on_missing_key": "shared 10/1m"`, "use `on_missing_key shared 10/1m`"},
		{`"on_missing_key": "skip 10/1m"`, "use `on_missing_key {client_ip} 10/1m`"},
		{`"on_missing_key": "skip"` + limit, "use it without one, or {client_ip}"},
		{`"on_missing_key": "deny"` + limit, "use it without one, or {client_ip}"},
		{`"on_missing_key": "{http.auth.user.id}"`, "is missing whenever the key is"},
		{`"on_missing_limit": {}`, "on_missing_key: limit: events is 0"},
		{`"on_missing_limit": {"events": 5, "window": "1m"}, "cost": {"events": 6}`, "on_missing_key: cost is 6"},
		{`"on_missing_limit": {"events": 5, "window": "1m", "burst": 2}, "algorithm": {"name": "fixed_window"}`,
			"on_missing_key: limit: fixed_window has no burst"},
	} {
		zone := `{"key": "{http.auth.user.id}", "limit": {"events": 100, "window": "1m"}, ` + test.settings + `}`
		wantRefused(t, zone, test.want)
	}
	for _, test := range []struct{ zone, want string }{
		{`{"key": "{http.vars.id}", "on_missing_limit": {"events": 1, "window": "1m"}}`, "100/1m` or `limit unlimited`"},
		{`{"key": "{http.vars.id}", "on_missing_key": "reject", "max_events": 5, "window": "1m"}`, "use deny"},
		{`{"key": "{http.vars.id}", "on_missing_limit": {"block": true}, "max_events": 5, "window": "1m"}`,
			"a zone with `window` has no on_ambiguous_key, on_path, on_missing_limit"},
	} {
		wantRefused(t, test.zone, test.want)
	}
}

// wantRefused checks that the zone is refused with an error that contains want.
func wantRefused(t *testing.T, zone, want string) {
	t.Helper()
	c := new(config.Zone)
	if err := json.Unmarshal([]byte(zone), c); err != nil {
		t.Fatal(err)
	}
	if _, err := new(Set).New("api", c, Options{}); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%s: error = %v, want one with %q", zone, err, want)
	}
}

// TestMissingKeyOfStaticKey checks that a setting for what never happens is warned about.
func TestMissingKeyOfStaticKey(t *testing.T) {
	for _, settings := range []string{`"on_missing_key": "skip"`, `"on_missing_limit": {"events": 1, "window": "1m"}`} {
		z := compiledZone(t, `{"key": "all", "limit": {"block": true}, `+settings+`}`)
		if len(z.Warnings) != 1 || !strings.Contains(z.Warnings[0].Error(), "on_missing_key has no effect") {
			t.Errorf("%s: warnings = %v, want one that it has no effect", settings, z.Warnings)
		}
	}
	// The address is never missing behind a TCP listener, and saying what the default is does no harm.
	z := compiledZone(t, `{"key": "`+clientIP+`", "on_missing_key": "`+clientIP+`", "limit": {"block": true}}`)
	if len(z.Warnings) > 0 {
		t.Errorf("warnings about the default = %v, want none", z.Warnings)
	}
}

// TestRuleWithoutKey checks which limit requests without a key have at each endpoint.
func TestRuleWithoutKey(t *testing.T) {
	const endpoints = `
		endpoint /cost {
			cost 2
		}
		endpoint /higher 100/1m fixed_window
		endpoint /as_high 10/1m
		endpoint /lower 5/1m
		endpoint /longer 20/1h
		endpoint /less_at_once 10/1m burst 2
		endpoint /unlimited unlimited
		endpoint /block block
	`
	for _, test := range []struct {
		zone, rate string
		want       []string // by endpoint; the last is the rest of the zone
	}{
		{"limit 100/1m\nmode strict" + endpoints, "10/1m",
			[]string{"own", "own", "own", "5/1m", "20/1h", "10/1m burst 2", "unlimited", "block", "own"}},
		{"limit unlimited" + endpoints, "unlimited",
			[]string{"own", "100/1m", "10/1m", "5/1m", "20/1h", "10/1m burst 2", "unlimited", "block", "own"}},
		{"limit 100/1m" + endpoints, "block", []string{"own", "own", "own", "own", "own", "own", "unlimited", "own", "own"}},
		{"endpoint /higher 100/1m", "10/1m", []string{"own", "none"}},
		{`tier {
				free 50/1m
				pro  unlimited
				keys sk_* pro
				default free
			}
			endpoint /default 20/1m {
				tier {
					free block
				}
			}
			endpoint /other_tier {
				tier {
					pro 1/1m
				}
			}
			endpoint /lower 5/1m {
				tier {
					free 20/1m
				}
			}
			endpoint /inherited 5/1m`, "10/1m", []string{"block", "own", "own", "5/1m", "own"}},
	} {
		z := compile(t, "rate_limit {\ntier free 1/s\n}", "rate_limit {\nzone api {\nkey {http.vars.id}\n"+
			"on_missing_key {http.vars.client_ip} "+test.rate+"\n"+test.zone+"\n}\n}")
		var own *rule
		for i, want := range test.want {
			e := z.configured.endpoints[i]
			got := "none"
			switch r := e.withoutKey; {
			case r == nil:
			case !slices.Contains(e.rules, r):
				got = "own"
				if own == nil {
					own = r
				} else if own != r {
					t.Errorf("%s at endpoint %d: a rule of its own, want one for the whole zone", test.rate, i)
				}
			case r.Unlimited():
				got = "unlimited"
			case r.Block:
				got = "block"
			default:
				got = (&config.Limit{Events: r.Limit.Events, Window: caddy.Duration(r.Limit.Window), Burst: r.Limit.Burst}).String()
			}
			if got != want {
				t.Errorf("%s at endpoint %d: limit %s, want %s", test.rate, i, got, want)
			}
		}
	}
}

// TestRuleWithoutKeyIsOfTheZone checks what the rule has besides its limit.
func TestRuleWithoutKeyIsOfTheZone(t *testing.T) {
	compiled := func(onMissing, settings string) *Zone {
		return compile(t, "rate_limit {\ndefaults {\non_outage open\n}\n}", "rate_limit {\nzone api {\nkey {http.vars.id}\n"+
			"limit 100/1m\non_missing_key "+onMissing+"\n"+settings+"\n}\n}")
	}
	z := compiled("{http.vars.client_ip} 10/1m", "mode strict\nmax_keys 7\nalgorithm sliding_window 3\n"+
		"endpoint /a 5/1m token_bucket {\nmode lease\n}")
	r, keyed := z.configured.endpoints[1].withoutKey, z.configured.endpoints[1].rules[noTier]
	if r.Algorithm != keyed.Algorithm || !r.Strict || r.OnOutage != limiter.OutageOpen || r.MaxKeys != 7 {
		t.Errorf("rule = %+v, want the algorithm, mode, on_outage and max_keys of the zone", r.Rule)
	}
	if r.Limit.Events != 10 || r.Limit.Window != time.Minute {
		t.Errorf("limit = %+v, want 10 per minute", r.Limit)
	}
	id := func(z *Zone) uint32 { return z.configured.endpoints[len(z.configured.endpoints)-1].withoutKey.ID }
	if r.ID == keyed.ID || r.ID == z.configured.endpoints[0].rules[noTier].ID {
		t.Errorf("ID of the rule = %d, want one of its own", r.ID)
	}
	changed := compiled("{http.vars.client_ip} 10/1m burst 3", "mode strict\nendpoint /a 1/1m")
	if id(compiled("{http.vars.client_ip} 11/1m", "")) != id(changed) {
		t.Error("another limit or endpoint has changed the ID of the rule, so that its counts start at zero")
	}
	if id(compiled("shared 10/1m", "")) == id(compiled("{http.vars.client_ip} 10/1m", "")) {
		t.Error("rules of two templates have one ID, and so share counts")
	}
}
