package integration

import (
	"strings"
	"testing"
)

// Each refusal has its status and its remedy, and changes nothing.
func TestRulesRefuse(t *testing.T) {
	g := serve(t, rulesZone)
	g.admin("POST", "/rate_limit/overrides", `{"id": "one", "zone": "user", "key": "taken", "limit": "5/1h"}`).is(201)
	long := strings.Repeat("x", 1001)
	for _, tc := range []struct {
		method, path, body string
		status             int
		says               string
		headers            []string
	}{
		{"POST", "overrides", `{"zone": "usr", "key": "a", "limit": "5/1h"}`, 400, `zone: there is no zone "usr": use "user"`, nil},
		{"POST", "overrides", `{"zone": "user", "key": "a", "limit": "5"}`, 400, `limit: "5" is not a rate: use`, nil},
		{"POST", "overrides", `{"zone": "user", "key": "a"}`, 400, `there is neither limit nor multiplier nor concurrent: use one`, nil},
		{"POST", "overrides", `{"zone": "user", "limit": "5/1h"}`, 400, `key: `, nil},
		{"POST", "overrides", `{"zone": "user", "key": "a", "multiplier": 0}`, 400, `there is neither limit nor multiplier nor concurrent: use one such as`, nil},
		{"POST", "overrides", `{"zone": "user", "key": "a", "multiplier": 1e7}`, 400, `multiplier: it is 1e+07: use`, nil},
		{"POST", "overrides", `{"zone": "user", "key": "a", "multiplier": 1e999}`, 400, `multiplier: 1e999 is not a number, or it is too large: use a number`, nil},
		{"POST", "overrides", `{"zone": "user", "key": "a", "limit": "5/1h", "expires_in": "0s"}`, 400, `expires_in: 0s is over already`, nil},
		{"POST", "overrides", `{"zone": "user", "key": "a", "limit": "5/1h", "expires_in": 5}`, 400, `expires_in: it is not a string`, nil},
		{"POST", "overrides", `{"zone": "user", "key": "a", "limit": "5/1h", "expires_in": "1h", "expires_at": "2099-01-01T00:00:00Z"}`, 400, `both expires_in and expires_at: use one of them`, nil},
		{"POST", "overrides", `{"zone": "user", "key": "a", "limit": "5/1h", "expires_at": "2001-01-01T00:00:00Z"}`, 400, `has passed: use a later instant`, nil},
		{"POST", "overrides", `{"zone": "user", "key": "a", "limit": "5/1h", "reason": "` + long + `"}`, 400, `reason: it has 1001 bytes: use at most 1000`, nil},
		{"POST", "overrides", `{"zone": "user", "key": "a", "limit": "5/1h", "id": "a/b"}`, 400, `id: "a/b" is not valid`, nil},
		{"POST", "overrides", `{"zone": "user", "key": "a", "limit": "5/1h", "endpoint": "/v1"}`, 400, `endpoint: there is no endpoint`, nil},
		{"POST", "overrides", `{"zone": "user", "key": "taken", "limit": "6/1h"}`, 409, `use PATCH /rate_limit/overrides/one`, nil},
		{"POST", "overrides", `{"id": "one", "zone": "user", "key": "b", "limit": "6/1h"}`, 409, `there is an entry "one" already: use PATCH /rate_limit/overrides/one`, nil},
		{"POST", "overrides", `[]`, 400, `it is not an object`, nil},
		{"POST", "overrides", `{"limt": "5/1h"}`, 400, `unknown field "limt": use "limit"`, nil},
		{"POST", "overrides", `{}`, 415, `use Content-Type: application/json`, []string{"Content-Type: text/plain"}},
		{"POST", "overrides", `{"reason": "` + strings.Repeat("x", 70_000) + `"}`, 413, `use at most 65536 bytes`, nil},
		{"POST", "overrides?dry_run=yes", `{"zone": "user", "key": "a", "limit": "5/1h"}`, 400, `use true or false`, nil},
		{"POST", "overrides?note=" + long, `{"zone": "user", "key": "a", "limit": "5/1h"}`, 400, `the note has 1001 bytes`, nil},
		{"PATCH", "overrides/one", `{"id": "two"}`, 400, `cannot be changed`, nil},
		{"PATCH", "overrides/one", `{"limit": "x"}`, 400, `limit: "x" is not a rate`, nil},
		{"PATCH", "overrides/one", `{"zone": null}`, 400, `zone: the zone is missing`, nil},
		{"PATCH", "overrides/two", `{}`, 404, `use GET /rate_limit/overrides`, nil},
		{"PUT", "overrides/one", `{}`, 405, `use one of DELETE, GET, HEAD, PATCH`, nil},
		{"GET", "overrides?limit=0", "", 400, `use a number from 1`, nil},
		{"GET", "overrides?after=two", "", 404, `use GET`, nil},
		{"POST", "tiers", `{"zone": "user", "key": "a", "tier": "gold"}`, 400, `tier: there is no tier "gold": use one of "free", "pro"`, nil},
		{"POST", "tiers", `{"zone": "all", "key": "everyone", "tier": "gold"}`, 400, `tier: there is no tier "gold"`, nil},
		{"POST", "access", `{"action": "deny"}`, 400, `there is neither a key nor an address`, nil},
		{"POST", "access", `{"action": "deny", "address": "0.0.0.0/0"}`, 400, `deny all addresses of 0.0.0.0/0`, nil},
		{"POST", "access", `{"action": "deny", "zone": "all", "key": "everyone"}`, 400, `use the limit block in the zone`, nil},
		{"POST", "access", `{"action": "block", "address": "192.0.2.1"}`, 400, `action: there is no action "block": use one of "allow", "deny"`, nil},
		{"PUT", "rules", `{"zones": {"usr": {}}}`, 400, `zones.usr: there is no zone "usr": use "user"`, []string{"If-Match: *"}},
		{"PUT", "rules", `{"zones": {"user": {"limit": 5}}}`, 400, `zones.user.limit: it is a number: use a string`, []string{"If-Match: *"}},
		{"PUT", "rules", "zones:\n  user:\n    limit: 5\n", 400, `zones.user.limit: it is a number`, []string{"If-Match: *", "Content-Type: application/yaml"}},
		{"PUT", "rules", "zones: [", 400, `use valid YAML`, []string{"If-Match: *", "Content-Type: application/yaml"}},
		{"PUT", "rules", "1: 2", 400, `use YAML that is like JSON, with texts as names`, []string{"If-Match: *", "Content-Type: application/yaml"}},
		{"PUT", "rules", `{}`, 415, `use Content-Type: application/json, or application/yaml`, []string{"If-Match: *", "Content-Type: application/toml"}},
		{"PUT", "rules", `{}`, 412, `which is no version of the rules`, []string{"If-Match: W/\"1\""}},
		{"PUT", "rules", `{}`, 400, `several tags`, []string{`If-Match: "1", "2"`}},
		{"PUT", "rules", `{`, 428, `use If-Match with the ETag`, nil},
		{"PUT", "rules", `{`, 412, `version 1 is in force, not 0`, []string{`If-Match: "0"`}},
		{"PATCH", "rules", `{`, 412, `version 1 is in force, not 0`, []string{`If-Match: "0"`}},
		{"PUT", "rules", `{"overrides": [` + strings.Repeat("{},", 2_000_000) + `{}]}`, 400,
			`overrides: there are more than 200000 entries`, []string{"If-Match: *"}},
		{"PATCH", "rules", `{"overrides": [` + strings.Repeat("{},", 2_000_000) + `{}]}`, 400,
			`overrides: there are more than 200000 entries`, []string{"If-Match: *"}},
		{"PUT", "rules", strings.Repeat(" ", 8<<20) + `{}`, 413, `use at most 8388608 bytes`, []string{"If-Match: *"}},
		{"PUT", "rules", `{"emergency": {"limit": "block", "expires_at": "2099-01-01T00:00:00Z"}}`, 400, `emergency.limit: block is no limit`, []string{"If-Match: *"}},
		{"PATCH", "rules", `{"overrides": [null]}`, 400, `overrides[0]: it is null`, []string{"If-Match: *"}},
		{"PATCH", "rules", `null`, 400, `use an object`, nil},
		{"GET", "rules/versions/x", "", 400, `use its number`, nil},
		{"GET", "rules/versions?before=-1", "", 400, `use a number from 1`, nil},
		{"GET", "rules/diff?from=77", "", 404, `no such version`, nil},
		{"POST", "zones/usr/inspect", `{"key": "a"}`, 404, `use one of`, nil},
		{"POST", "zones/user/inspect", `{}`, 400, `key: `, nil},
		{"POST", "zones/user/inspect", `{"key": "a", "key_base64": "YQ=="}`, 400, `both key and key_base64: use one of them`, nil},
		{"POST", "zones/user/inspect", `{"key": "a", "tier": "gold"}`, 400, `tier: `, nil},
		{"POST", "zones/all/inspect", `{"key": "everyone", "tier": "gold"}`, 400, `has no tiers`, nil},
		{"POST", "zones/user/inspect", `{"key": "a", "endpoint": "/x"}`, 400, `endpoint: there is no endpoint`, nil},
		{"POST", "zones/user/reset", `{"keys": ["a", ""]}`, 400, `keys[1]: `, nil},
		{"POST", "zones/user/reset", `{"key": "a", "keys": ["a"]}`, 400, `both keys and a key: use one of them`, nil},
		{"POST", "zones/user/reset?dry_run=true", `{"key": "a"}`, 400, `use author or note`, nil},
		{"POST", "zones/user/quota", `{"key": "a"}`, 400, `events: it is 0: use 1 to`, nil},
		{"POST", "zones/user/quota", `{"key": "a", "events": 1.5}`, 400, `events: 1.5 is not an integer`, nil},
		{"GET", "zones/user/quota", ``, 405, `use one of POST`, nil},
		{"DELETE", "emergency?all_nodes=maybe", ``, 400, `use true or false`, nil},
	} {
		r := g.admin(tc.method, "/rate_limit/"+tc.path, tc.body, tc.headers...)
		if r.status != tc.status || !strings.Contains(strings.ReplaceAll(r.body, `\"`, `"`), tc.says) {
			t.Errorf("%s %s %.100s: %d %s\nwant %d with %q", tc.method, tc.path, tc.body, r.status, r.body, tc.status, tc.says)
		}
	}
	g.admin("GET", "/rate_limit/rules", "").has("ETag", `"1"`)
}
