package integration

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2/caddyconfig"

	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// plan returns what a reload with a Caddyfile would change.
func (g *gateway) plan(caddyfile string) (p *api.Plan) {
	g.t.Helper()
	adapted, _, err := caddyconfig.GetAdapter("caddyfile").Adapt([]byte(caddyfile), nil)
	if err != nil {
		g.t.Fatal(err)
	}
	answer := g.admin("POST", "/rate_limit/plan", string(adapted)).is(http.StatusOK)
	if err := json.Unmarshal([]byte(answer.body), &p); err != nil {
		g.t.Fatal(err)
	}
	return p
}

// plannedSite is the site that the tests of plans change.
const plannedSite = `rate_limit {
	zone user {
		key {header.X-User}
		limit 9/1h
		tier {header.X-Tier} trusted {
			pro 20/1h
		}
		endpoint /search 5/1h
		ipv6_prefix 56
		on_missing_key {client_ip} 3/1h
	}
}
respond hello`

// TestAdminPlan plans reloads and then does them: what a reload logs is what its plan says.
func TestAdminPlan(t *testing.T) {
	const closed = " mode strict on_outage closed"
	for _, tc := range []struct {
		name, from, to string
		want           []string // what the plan says of each zone
	}{
		{"nothing", "", "", nil},
		{"limits", "limit 9/1h", "limit 7/1h burst 9", []string{
			"changed user [limit] [the rest of the zone: 9/1h token_bucket is now 7/1h burst 9 token_bucket] []",
		}},
		{"tiers", "pro 20/1h", "pro 30/1h", []string{
			"changed user [tier] [the rest of the zone tier pro: 20/1h token_bucket is now 30/1h token_bucket] []",
		}},
		{"concurrent", "endpoint /search 5/1h", "concurrent 6\nendpoint /search 5/1h {\nconcurrent 2\n}", []string{
			"changed user [concurrent endpoints] [the rest of the zone: none is now concurrent 6 " +
				"the rest of the zone tier pro: none is now concurrent 6 /search: none is now concurrent 2 " +
				"/search tier pro: none is now concurrent 2] []",
		}},
		{"statuses", "limit 9/1h", "limit 9/1h\ncount_status 401", []string{"changed user [count_status] [] []"}},
		{"cost", "limit 9/1h", "limit 9/1h\ncost 2", []string{"changed user [cost] [] []"}},
		{"outage", "limit 9/1h", "limit 9/1h\non_outage closed\nmode strict", []string{
			"changed user [mode on_outage] [the rest of the zone: 9/1h token_bucket is now 9/1h token_bucket" + closed + " " +
				"the rest of the zone without a key: 3/1h token_bucket is now 3/1h token_bucket" + closed + " " +
				"the rest of the zone tier pro: 20/1h token_bucket is now 20/1h token_bucket" + closed + " " +
				"/search: 5/1h token_bucket is now 5/1h token_bucket" + closed + " " +
				"/search without a key: 3/1h token_bucket is now 3/1h token_bucket" + closed + " " +
				"/search tier pro: 5/1h token_bucket is now 5/1h token_bucket" + closed + "] []",
		}},
		{"key", "key {header.X-User}", "key {header.X-Customer}", []string{
			"changed user [key] [] [key: {http.request.header.X-User} is now {http.request.header.X-Customer}]",
		}},
		{"endpoint", "endpoint /search 5/1h\n", "", []string{
			"changed user [endpoints] [/search: 5/1h token_bucket is now none /search without a key: 3/1h token_bucket is now none " +
				"/search tier pro: 5/1h token_bucket is now none] [endpoint /search: it is not in the zone]",
		}},
		{"name", "zone user", "zone customer", []string{"added customer [] [] []", "removed user [] [] [name: user is now customer]"}},
		{"all", plannedSite, "respond hello", []string{"removed user [] [] [the zone: it is not in the configuration]"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := serve(t, plannedSite)
			to := strings.Replace(plannedSite, tc.from, tc.to, 1)
			plan := g.plan(g.caddyfile("", to))
			var got, logged []string
			for _, z := range plan.Zones {
				limits := []string{}
				for _, l := range z.Limits {
					limits = append(limits, l.String())
				}
				got = append(got, fmt.Sprint(z.Change, " ", z.Zone, " ", z.Settings, " ", limits, " ", z.Reset))
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("the plan is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tc.want, "\n"))
			}
			if tc.name == "all" {
				return // no app is left to log the reload
			}
			g.reload(to)
			for _, change := range []string{"added", "changed", "removed"} {
				for _, line := range g.logged("the reload has " + change + " a zone") {
					logged = append(logged, fmt.Sprint(change, " ", line["zone"], " ", line["settings"], " ", line["limits"], " ",
						line["counts_reset"]))
				}
			}
			if !slices.Equal(logged, tc.want) {
				t.Errorf("the reload logs\n%s\nwant\n%s", strings.Join(logged, "\n"), strings.Join(tc.want, "\n"))
			}
		})
	}
}

// TestAdminPlanOfKeys plans what happens to keys that have counts, and to rules.
func TestAdminPlanOfKeys(t *testing.T) {
	redis := redistest.NewServer(t)
	for name, options := range map[string]string{
		"memory": "", "Redis": "rate_limit {\nredis {\naddress " + redis.Addr + "\ntimeout 10s\n}\n}",
	} {
		t.Run(name, func(t *testing.T) {
			g := serveWith(t, options, plannedSite)
			for user, requests := range map[string]int{"alice": 7, "bob": 2, "carol": 6} {
				for range requests {
					g.get("/", "X-User: "+user).is(200)
				}
			}
			g.get("/search", "X-User: alice").is(200)
			g.admin("POST", "/rate_limit/overrides", `{"id": "one", "zone": "user", "key": "alice", "endpoint": "/search", "limit": "8/1h"}`).is(201)
			g.admin("POST", "/rate_limit/overrides", `{"id": "two", "zone": "user", "key": "carol", "limit": "8/1h"}`).is(201)

			lower := strings.NewReplacer("limit 9/1h", "limit 5/1h", "endpoint /search 5/1h\n", "").Replace(plannedSite)
			plan := g.plan(g.caddyfile(options, lower))
			if len(plan.Zones) != 1 {
				t.Fatalf("the plan is %+v, want one zone", plan)
			}
			z := plan.Zones[0]
			if len(z.Above) != 1 || z.Above[0].Shortened != "a…" || z.Above[0].Consumed != 7 || z.Above[0].Limit != "5/1h" || z.Counts != 1 {
				t.Errorf("the plan is %+v, want alice above 5/1h and one count from zero", z)
			}
			if rules := fmt.Sprint(plan.Rules); len(plan.Rules) != 1 || !strings.Contains(rules, `zone "user": override one: `) {
				t.Errorf("the rules that end are %s", rules)
			}
			if other := g.plan(g.caddyfile("rate_limit {\nredis {\naddress 127.0.0.1:9\n}\n}", plannedSite)); !other.Resets ||
				other.Zones[0].Counts != 4 || len(other.Zones[0].Above) > 0 {
				t.Errorf("the plan for another store is %+v, want four counts from zero", other)
			}
			g.get("/", "X-User: bob").is(200).has("X-RateLimit-Limit", "9") // nothing was reloaded

			g.addr = redistest.FreeAddr()
			g.mustLoad(g.caddyfile(options, lower))
			more := strings.Replace(lower, "zone user", "zone more {\nkey static\nlimit 1/1h\n}\nzone user", 1)
			if plan := g.plan(g.caddyfile(options, more)); len(plan.Zones) != 1 || len(plan.Rules) > 0 {
				t.Errorf("the plan is %+v, want one zone, and no rule: that is out of force already", plan)
			}
		})
	}
}

func TestAdminPlanRefuses(t *testing.T) {
	g := serve(t, plannedSite)
	for config, want := range map[string]string{
		`{`:                                      "use the JSON that `caddy adapt` prints",
		`{"apps": {"rate_limit": {"nodes": 3}}}`: "nodes share no Redis",
		`{"apps": {"http": {"servers": {"a": {"routes": [{"handle": [{"handler": "rate_limit", "rate_limits": {"z": {"limit": "1/1m"}}}]}]}}}}}`: `zone \"z\": no key: use `,
		`{"apps": {"http": {"servers": {"a": {"routes": [{"handle": [{"handler": "rate_limit"}]}]}}}}}`:                                          "rate_limit has nothing to do",
		`{"apps": {"rate_limit": {"zones": {"z": null}}}}`:                                                                                       `zone \"z\": is empty`,
		`{"apps": {"rate_limit": {"zones": {"z": {"key": "static"}}}}}`:                                                                          `zone \"z\": no limit`,
		`{"apps": {"rate_limit": {"zones": {"z z": {"key": "static", "limit": "1/m"}}}}}`:                                                        "z z",
		`{"apps": {"http": {"servers": {"a": {"routes": [{"handle": [{"handler": "rate_limit", "deny": ["192.0.2.0/33"]}]}]}}}}}`:                "deny: ",
	} {
		g.admin("POST", "/rate_limit/plan", config).is(400).says(want)
	}
}

// A plan tells nothing of the files and the environment of Caddy, whichever setting names them. A placeholder
// that the running configuration has may stay in its setting.
func TestPlanExpandsNothingOfTheProcess(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("hunter2{x}"), 0o600); err != nil {
		t.Fatal(err)
	}
	const site = "rate_limit {\nallow {env.FLEETLIMIT_OFFICE}\nzone user {\nkey {header.X-User}\nlimit 5/1h\n}\n}\nrespond ok"
	t.Setenv("FLEETLIMIT_OFFICE", "198.51.100.7")
	g := serve(t, site)
	if plan := g.plan(g.caddyfile("", strings.Replace(site, "5/1h", "6/1h", 1))); len(plan.Zones) != 1 {
		t.Errorf("with the allow of the running configuration: %+v, want one changed zone", plan)
	}
	handler := `{"apps": {"http": {"servers": {"a": {"routes": [{"handle": [{"handler": "rate_limit", %s}]}]}}}}}`
	for _, placeholder := range []string{"{file." + secret + "}", "{env.FLEETLIMIT_OFFICE}", "{system.hostname}"} {
		for _, config := range []string{
			fmt.Sprintf(handler, `"deny": ["`+placeholder+`"]`),
			fmt.Sprintf(handler, `"rate_limits": {"z": {"key": "`+placeholder+`", "limit": "1/1m"}}`),
			fmt.Sprintf(handler, `"rate_limits": {"z": {"key": "static", "limit": "1/1m", "cost": "`+placeholder+`"}}`),
			fmt.Sprintf(handler, `"rate_limits": {"z": {"key": "static", "limit": "1/1m", "reject_headers": {"X": "`+placeholder+`"}}}`),
			`{"apps": {"rate_limit": {"redis": {"addresses": ["` + placeholder + `"]}}}}`,
			`{"apps": {"rate_limit": {"redis": {"addresses": ["127.0.0.1:1"], "key_prefix": "` + placeholder + `"}}}}`,
			`{"apps": {"rate_limit": {"rules": {"store": "postgres", "url": "` + placeholder + `"}}}}`,
		} {
			body := g.admin("POST", "/rate_limit/plan", config).is(400).body
			if hostname, _ := os.Hostname(); strings.Contains(body, "hunter2") || strings.Contains(body, "198.51.100.7") || strings.Contains(body, `"`+hostname) {
				t.Errorf("the plan of %s answers %s", config, body)
			}
		}
	}
}

func TestPlanCommand(t *testing.T) {
	g, s := serve(t, plannedSite), newShell(t)
	write := func(site string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(s.dir, "Caddyfile"), []byte(g.caddyfile("", site)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	g.awaitAdmin()
	write(plannedSite)
	if got, errors, code := s.exec("caddy rate-limit plan"); code != 0 || got != "no zone, limit, count or rule changes\n" {
		t.Errorf("without a change: exit code %d, %s%s", code, got, errors)
	}
	write(strings.Replace(plannedSite, "key {header.X-User}", "key {header.X-Customer}", 1))
	const line = "caddy rate-limit plan --config Caddyfile --fail-if-reset"
	if got, errors, code := s.exec(line); code != 1 || !strings.Contains(got, "counts reset  key: ") {
		t.Errorf("%s: exit code %d, %s%s", line, code, got, errors)
	}
	if _, errors, _ := s.exec(line); strings.Count(errors, "using config from file") != 1 {
		t.Errorf("%s reads the file several times, or says nothing: %s", line, errors)
	}
	if got, errors, code := s.exec("caddy rate-limit plan --config none"); code != 2 {
		t.Errorf("without a file: exit code %d, %s%s", code, got, errors)
	}
}
