package config

import (
	"fmt"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
)

// TestRemedies has subdirectives that belong to other blocks or to other programs.
func TestRemedies(t *testing.T) {
	const zone = "rate_limit {\nzone z {\nkey {client_ip}\nlimit 100/1m\n%s\n}\n}"
	blocks := map[string]string{
		"rate_limit": "rate_limit {\n%s\n}",
		"zone":       zone,
		"endpoint":   fmt.Sprintf(zone, "endpoint /a {\n%s\n}"),
		"tier":       fmt.Sprintf(zone, "tier {http.vars.t} {\n%s\n}"),
		"option":     "rate_limit {\n%s\n}",
		"defaults":   "rate_limit {\ndefaults {\n%s\n}\n}",
		"redis":      "rate_limit {\nredis {\n%s\n}\n}",
	}
	for _, tc := range []struct{ block, line, want string }{
		{"rate_limit", "limit 100/1m", "use it inside `zone <name> {`"},
		{"rate_limit", "key {client_ip}", "use it inside `zone <name> {`"},
		{"rate_limit", "redis localhost:6379", "use it in the global option rate_limit"},
		{"rate_limit", "burst 5", "inside `zone <name> {`"},
		{"rate_limit", "whitelist 10.0.0.1", "use `allow <ip|cidr...>`"},
		{"rate_limit", "header x", "did you mean headers?"},
		{"zone", "deny 10.0.0.1", "use it beside the zone"},
		{"zone", "Log-Rejections all", "use it beside the zone"},
		{"zone", "zone y {\n}", "use } to close this one"},
		{"zone", "rate 10r/s", "such as `limit 100/1m`"},
		{"zone", "period 1m", "such as `limit 100/1m`"},
		{"zone", "burst 20", "burst <n>`"},
		{"zone", "nodelay", "burst <n>`"},
		{"zone", "rate=10r/s", "such as `limit 100/1m`"},
		{"zone", "max_keys=5", "use `max_keys 5`"},
		{"zone", "token_bucket 5", "`algorithm <name>`"},
		{"zone", "requests_per_unit 5", "such as `limit 100/1m`"},
		{"zone", "sourceCriterion x", "`key {client_ip}`"},
		{"zone", "except /health", "`match { not path <path> }`"},
		{"zone", "fault_tolerant true", "on_outage local | open | closed"},
		{"zone", "limit_conn 5", "use `concurrent <n>`"},
		{"tier", "else 5/1m", "`default <tier>`"},
		{"zone", "keys sk_* pro", "`keys <glob...> <tier>`"},
		{"zone", "path /a", "use `endpoint <path> <rate>`"},
		{"zone", "redis localhost:6379", "in the global option rate_limit"},
		{"zone", "fail_open", "use `on_outage local | open | closed`"},
		{"endpoint", "key {client_ip}", "or another zone"},
		{"endpoint", "burst 5", "burst <n>`"},
		{"endpoint", "method GET", "use `endpoint <METHOD>"},
		{"tier", "key sk_* pro", "use `keys <glob...> <tier>`"},
		{"tier", "tier pro 10/1m", "without the word tier"},
		{"tier", "limit 5/1m", "use `<tier> <rate>`"},
		{"option", "address localhost:6379", "use it as `redis {`"},
		{"option", "algorithm fixed_window", "use it inside `defaults {`"},
		{"option", "limit 100/1m", "use it inside `zone <name> {`"},
		{"defaults", "limit 100/1m", "use it in each zone"},
		{"redis", "url redis://localhost", "use `address <host:port...>`"},
		{"redis", "database 1", "use `db <n>`"},
		{"redis", "mode cluster", "`redis cluster {`"},
		{"redis", "pool 5", "did you mean pool_size?"},
		{"rate_limit", "max_overshoot 1%", "leases never exceed the limit: remove max_overshoot"},
		{"option", "max_overshoot 1%", "leases never exceed the limit: remove max_overshoot"},
		{"tier", "max_overshoot 1%", "leases never exceed the limit: remove max_overshoot"},
		{"zone", "compare {\nmax_overshoot 1%\n}", "leases never exceed the limit: remove max_overshoot"},
	} {
		text := fmt.Sprintf(blocks[tc.block], tc.line)
		var err error
		if tc.block == "option" || tc.block == "defaults" || tc.block == "redis" {
			err = new(App).ParseCaddyfile(dispenser(t, text), nil)
		} else {
			err = new(Handler).UnmarshalCaddyfile(dispenser(t, text))
		}
		if err == nil || !strings.Contains(err.Error(), "unrecognized subdirective") || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s in %s: error %v, want one with %q", tc.line, tc.block, err, tc.want)
		}
	}
}

// A remedy for a word that its block has would never be read.
func TestRemediesAreForUnknownWords(t *testing.T) {
	p := &zoneParser{zonesParser: &zonesParser{Dispenser: caddyfile.NewTestDispenser("")}, zone: new(Zone)}
	for word := range remedies["block zone"] {
		if _, known := p.block().Lines[word]; known {
			t.Errorf("%s has a remedy in a zone, which knows it", word)
		}
	}
}
