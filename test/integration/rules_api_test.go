package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2"

	"github.com/fleetlimit/fleetlimit/test/redistest"
)

const rulesZone = `
	rate_limit {
		zone user {
			key {header.X-User}
			limit 3/1h
			tier {header.X-Tier} trusted {
				free 1/1h
				pro 6/1h
				keys sk_pro_* pro
			}
			endpoint POST /v1/search* 2/1h
			mode strict
		}
		zone all {
			key everyone
			limit 1000/1h
		}
	}
	respond hello`

// inEachStore runs test twice: with counts in memory and rules in Caddy's storage, and with both in Redis.
func inEachStore(t *testing.T, test func(t *testing.T, g *gateway)) {
	inEachStoreOf(t, rulesZone, test)
}

// inEachStoreOf does what inEachStore does, with another site.
func inEachStoreOf(t *testing.T, site string, test func(t *testing.T, g *gateway)) {
	t.Run("memory", func(t *testing.T) { test(t, serve(t, site)) })
	t.Run("Redis", func(t *testing.T) {
		redis := redistest.NewServer(t)
		test(t, serveWith(t, "rate_limit {\nredis {\naddress "+redis.Addr+"\ntimeout 10s\n}\n}", site))
	})
}

// object returns the body, which is a JSON object.
func (r *reply) object() (o map[string]any) {
	r.t.Helper()
	if err := json.Unmarshal([]byte(r.body), &o); err != nil {
		r.t.Fatalf("%v: %s", err, r.body)
	}
	return o
}

// added returns the path of the entry that was added.
func (r *reply) added() string {
	r.t.Helper()
	return r.is(201).header.Get("Location")
}

// admits checks that n requests of a user are admitted now, and that the next one is not.
func (g *gateway) admits(n int, headers ...string) {
	g.t.Helper()
	for range n {
		g.get("/", headers...).is(200)
	}
	g.get("/", headers...).rejected()
}

func TestRulesOverrideRaisesLimitAtOnce(t *testing.T) {
	inEachStore(t, func(t *testing.T, g *gateway) {
		g.admits(3, alice)
		path := g.admin("POST", "/rate_limit/overrides",
			`{"zone": "user", "key": "alice", "limit": "5/1h", "expires_in": "1h", "reason": "launch"}`).
			has("ETag", `"1"`).says(`"key":"alice"`, `"limit":"5/1h"`, `"expires_at":"`, `"created_by":"127.0.0.1:`).added()
		g.admits(2, alice)
		g.admits(3, "X-User: bob")
		g.admin("GET", path, "").is(200).has("ETag", `"1"`).says(`"reason":"launch"`)
		g.admin("PATCH", path, `{"limit": null, "multiplier": 2, "expires_in": "2h"}`, "If-Match: \"1\"").is(200).
			has("ETag", `"2"`).says(`"multiplier":2`)
		g.admits(1, alice)
		g.admin("PATCH", path, `{"multiplier": 3}`, "If-Match: \"1\"").is(412).says("version 2 is in force, not 1: use the ETag")
		g.admin("GET", "/rate_limit/overrides?zone=user&limit=1", "").is(200).says(`{"overrides":[{"id":`)
		g.admin("GET", "/rate_limit/overrides?zone=all", "").is(200).says(`{"overrides":[]}`)
		g.admin("DELETE", path+"?dry_run=true", "").is(200).says(`"dry_run":true`, `"to":null`)
		g.admin("DELETE", path+"?note=over", "").is(200).has("ETag", `"3"`).says(`"note":"over"`, `"to":null`)
		g.admin("DELETE", path, "").is(404).says("use GET /rate_limit/overrides")
		g.admin("GET", path, "").is(404)
		g.get("/", alice).rejected()
	})
}

func TestRulesOverrideExpires(t *testing.T) {
	g := serve(t, rulesZone)
	g.admits(3, alice)
	begin := time.Now()
	path := g.admin("POST", "/rate_limit/overrides", `{"zone": "user", "key": "alice", "limit": "unlimited", "expires_in": "1s"}`).added()
	g.get("/", alice).is(200)
	redistest.Eventually(t, "the end", func() bool { return g.get("/", alice).status == 429 })
	if after := time.Since(begin); after < 990*time.Millisecond {
		t.Errorf("it ended after %v, want 1 s", after)
	}
	g.admin("GET", path, "").is(404)
	g.admin("GET", "/rate_limit/overrides", "").is(200).says(`{"overrides":[]}`)
	redistest.Eventually(t, "the version of the expiry", func() bool {
		return strings.Contains(g.admin("GET", "/rate_limit/rules/versions?limit=1", "").body, `"author":"expiry","summary":"overrides.`)
	})
	g.admin("POST", "/rate_limit/overrides?author=alice", `{"zone": "user", "key": "alice", "limit": "unlimited"}`).
		says(`"created_by":"alice"`).added()
	g.get("/", alice).is(200)
}

func TestRulesTiersAndAccess(t *testing.T) {
	inEachStore(t, func(t *testing.T, g *gateway) {
		g.admits(1, alice, "X-Tier: free")
		tier := g.admin("POST", "/rate_limit/tiers", `{"zone": "user", "key": "alice", "tier": "pro"}`).added()
		g.admits(5, alice, "X-Tier: free")
		g.admin("GET", "/rate_limit/tiers", "").is(200).says(`"tier":"pro"`)
		g.admin("GET", tier, "").is(200)
		g.admin("PATCH", tier, `{"reason": "contract"}`, "Content-Type: application/merge-patch+json").is(200).says(`"reason":"contract"`)
		g.admin("DELETE", tier, "").is(200)
		g.get("/", alice, "X-Tier: free").rejected()

		entry := g.admin("POST", "/rate_limit/access", `{"action": "deny", "address": "192.0.2.0/24"}`).added()
		g.get("/", "X-User: bob", from("192.0.2.9")).is(403)
		g.admin("PATCH", entry, `{"action": "allow"}`).is(200)
		for range 5 {
			g.get("/", "X-User: bob", from("192.0.2.9")).is(200)
		}
		g.admin("GET", entry, "").is(200)
		g.admin("DELETE", entry, "").is(200)
		g.admin("POST", "/rate_limit/access", `{"action": "deny", "zone": "user", "key": "mallory"}`).added()
		g.get("/", "X-User: mallory").is(403)
		g.admin("GET", "/rate_limit/access", "").is(200).says(`"key":"mallory"`)
	})
}

func TestRulesResetAndQuota(t *testing.T) {
	inEachStore(t, func(t *testing.T, g *gateway) {
		bob, carol := "X-User: bob", "X-User: carol"
		for _, user := range []string{alice, bob, carol} {
			g.admits(3, user)
		}
		g.admin("POST", "/rate_limit/zones/user/reset", `{"key": "alice", "reason": "they asked"}`).is(200).
			has("ETag", `"1"`).says(`"version":1`, `"note":"they asked"`, `"author":"127.0.0.1:`)
		g.admits(3, alice)
		g.admin("POST", "/rate_limit/zones/user/quota", `{"key": "alice", "events": 2}`).is(200).says(`"version":2`)
		g.admits(2, alice)
		g.admin("POST", "/rate_limit/zones/user/reset", `{"keys": ["bob", "carol"]}`).is(200)
		g.admits(3, bob)
		g.admits(3, carol)
		g.admin("GET", "/rate_limit/rules/versions", "").is(200).
			says(`"actions":[{"kind":"reset","zone":"user","key":"bob"},{"kind":"reset","zone":"user","key":"carol"}]`)
	})
}

func TestRulesInspect(t *testing.T) {
	inEachStore(t, func(t *testing.T, g *gateway) {
		g.get("/", "X-User: sk_pro_1").is(200)
		inspect := func(body string) *reply {
			t.Helper()
			return g.admin("POST", "/rate_limit/zones/user/inspect", body).is(200)
		}
		inspect(`{"key": "sk_pro_1", "endpoint": "POST /v1/search*"}`).says(`"limit":"2/1h"`, `"place":"endpoint"`)
		inspect(`{"key": "sk_pro_1"}`).says(`"tier":{"name":"pro","source":"keys"}`, `"limit":"6/1h"`,
			`"from":[{"limit":"3/1h","source":"configuration","place":"zone"},{"limit":"6/1h","source":"configuration","place":"tier"}]`,
			`"count":{"limit":6,"remaining":5,"consumed":1,"reset_at":"`)
		inspect(`{"key": "x", "tier": "free"}`).says(`"tier":{"name":"free","source":"request"}`, `"limit":"1/1h"`)
		inspect(`{"key_base64": "YWxpY2U="}`).says(`"key_base64":"YWxpY2U="`, `"limit":"3/1h"`)
		inspect(`{"key": "127.0.0.1", "missing": true}`).says(`"missing":true`)

		g.admin("PATCH", "/rate_limit/rules", `{"zones": {"user": {"tiers": {"pro": "20/1h"}}}}`).is(200)
		id := strings.TrimPrefix(g.admin("POST", "/rate_limit/overrides",
			`{"zone": "user", "key": "sk_pro_1", "multiplier": 2}`).added(), "/rate_limit/overrides/")
		inspect(`{"key": "sk_pro_1"}`).says(`"limit":"40/1h"`, `{"limit":"20/1h","source":"rules","place":"tier"}`,
			`{"multiplier":2,"source":"override","place":"key","override":"`+id+`"}`, `"remaining":39`)
		g.admin("POST", "/rate_limit/access", `{"id": "vip", "action": "allow", "zone": "user", "key": "sk_pro_1"}`).is(201)
		inspect(`{"key": "sk_pro_1"}`).says(`"access":{"action":"allow","source":"rules","entry":"vip"}`)
	})
}

func TestRulesDocument(t *testing.T) {
	inEachStore(t, func(t *testing.T, g *gateway) {
		g.admin("GET", "/rate_limit/rules", "").is(200).has("ETag", `"0"`)
		g.admits(3, alice)
		const document = `{"zones": {"user": {"limit": "5/1h", "dry_run": "0%"}}, "overrides": [{"zone": "user", "key": "bob", "limit": "1/1h"}]}`
		g.admin("PUT", "/rate_limit/rules?dry_run=true", document).is(200).lacks("ETag").
			says(`"dry_run":true`, `{"path":"zones.user","from":null,"to":{"dry_run":"0%","limit":"5/1h"}}`)
		g.admin("GET", "/rate_limit/rules", "").has("ETag", `"0"`)
		g.admin("PUT", "/rate_limit/rules", document).is(428).says("use If-Match")
		g.admin("PUT", "/rate_limit/rules?note=first", document, `If-Match: "0"`).is(200).has("ETag", `"1"`)
		g.admin("PUT", "/rate_limit/rules", document, `If-Match: "0"`).is(412)
		g.admits(2, alice)
		g.admits(1, "X-User: bob")
		g.admin("GET", "/rate_limit/rules", "", `If-None-Match: "1"`).is(304).has("ETag", `"1"`)
		g.admin("GET", "/rate_limit/rules", "", `If-None-Match: "0"`).is(200)

		yaml := g.admin("GET", "/rate_limit/rules", "", "Accept: application/yaml").is(200).
			has("Content-Type", "application/yaml").says("zones:\n", "limit: 5/1h\n")
		g.admin("PUT", "/rate_limit/rules", strings.Replace(yaml.body, "5/1h", "6/1h", 1), `If-Match: "1"`,
			"Content-Type: application/yaml").is(200).
			says(`"changes":[{"path":"zones.user.limit","from":"5/1h","to":"6/1h"}]`)
		g.admits(1, alice)

		g.admin("PATCH", "/rate_limit/rules", `{"overrides": []}`).is(428).says("If-Match")
		g.admin("PATCH", "/rate_limit/rules", `{"overrides": null, "zones": {"user": {"tiers": {"pro": "8/1h"}}}}`).is(200).has("ETag", `"3"`)
		g.admits(7, "X-User: bob", "X-Tier: pro")
	})
}

func TestRulesHistory(t *testing.T) {
	inEachStore(t, func(t *testing.T, g *gateway) {
		for i := 1; i <= 3; i++ {
			g.admin("PATCH", "/rate_limit/rules?note=n"+fmt.Sprint(i), fmt.Sprintf(`{"zones": {"user": {"limit": "1%d/1h"}}}`, i)).is(200)
		}
		g.admin("GET", "/rate_limit/rules/versions?limit=2", "").is(200).says(`"next":2`, `"note":"n3"`, `"note":"n2"`)
		g.admin("GET", "/rate_limit/rules/versions?before=2", "").is(200).says(`"note":"n1"`)
		g.admin("GET", "/rate_limit/rules/versions/2", "").is(200).
			says(`"document":{"zones":{"user":{"limit":"12/1h"}}}`, `"changes":[{"path":"zones.user.limit","from":"11/1h","to":"12/1h"}]`)
		g.admin("GET", "/rate_limit/rules/diff", "").is(200).says(`{"from":2,"to":3,"changes":[{"path":"zones.user.limit","from":"12/1h","to":"13/1h"}]}`)
		g.admin("GET", "/rate_limit/rules/diff?from=0&to=1", "").is(200).says(`"from":null,"to":{"limit":"11/1h"}`)
		g.admin("POST", "/rate_limit/rules/versions/1/rollback?dry_run=true", `{}`).is(200).says(`"dry_run":true`, `"to":"11/1h"`)
		g.admin("POST", "/rate_limit/rules/versions/1/rollback", `{"note": "too much"}`, `If-Match: "3"`).is(200).
			has("ETag", `"4"`).says(`"note":"too much"`, `"from":"13/1h","to":"11/1h"`)
		g.admin("POST", "/rate_limit/rules/versions/0/rollback", `{}`, `If-Match: "3"`).is(412)
		g.admin("POST", "/rate_limit/rules/versions/0/rollback", `{}`).is(200).says(`"note":"rollback to version 0"`)
		if r := g.admin("GET", "/rate_limit/rules", ""); r.body != "{}\n" {
			t.Errorf("rules = %s, want none", r.body)
		}
		for _, path := range []string{"/99", "/99/rollback"} {
			method, body := "GET", ""
			if strings.HasSuffix(path, "rollback") {
				method, body = "POST", "{}"
			}
			g.admin(method, "/rate_limit/rules/versions"+path, body).is(404).says("use GET /rate_limit/rules/versions")
		}
	})
}

func TestRulesStatusZonesNodes(t *testing.T) {
	inEachStore(t, func(t *testing.T, g *gateway) {
		redistest.Eventually(t, "a Redis that is fast enough", func() bool {
			return strings.Contains(g.admin("GET", "/rate_limit/status", "").is(200).body, `"status":"ok"`)
		})
		g.admin("GET", "/rate_limit/status", "").is(200).says(`"zones":2`, `"version":0`, `"emergency":{"active":false}`)
		g.admin("GET", "/rate_limit/zones", "").is(200).says(`"name":"all"`, `"name":"user"`)
		g.admin("GET", "/rate_limit/zones/user", "").is(200).
			says(`"endpoint":"POST /v1/search*"`, `"tier":"pro","limit":"6/1h","algorithm":"token_bucket"`)
		redistest.Eventually(t, "the node among the nodes", func() bool {
			r := g.admin("GET", "/rate_limit/nodes", "").is(200)
			return strings.Contains(r.body, `"nodes":[{"name":"`) && strings.Contains(r.body, `"count":1`)
		})
		g.admin("GET", "/rate_limit/openapi.json", "").is(200).has("Content-Type", "application/json").says(`"openapi"`)
	})
}

func TestRulesEmergencyOfAllNodes(t *testing.T) {
	inEachStore(t, func(t *testing.T, g *gateway) {
		g.admin("POST", "/rate_limit/emergency?dry_run=true", `{"limit": "1/1h", "all_nodes": true}`).is(200).says(`"dry_run":true`)
		g.admin("GET", "/rate_limit/emergency", "").says(`{"active":false}`)
		g.admin("POST", "/rate_limit/emergency", `{"limit": "1/1h", "all_nodes": true, "reason": "flood"}`).is(200).
			has("ETag", `"1"`).says(`"active":true`, `"all_nodes":true`, `"started_by":"127.0.0.1:`)
		g.admits(1, alice, from("192.0.2.1"))
		g.admin("GET", "/rate_limit/rules", "").says(`"emergency":{"limit":"1/1h"`)
		g.admin("GET", "/rate_limit/rules/versions", "").says(`"note":"flood"`)
		g.admin("DELETE", "/rate_limit/emergency", "").is(409).says("all_nodes=true")
		g.admin("DELETE", "/rate_limit/emergency?all_nodes=true", "").is(200).says(`{"active":false}`)
		g.get("/", alice, from("192.0.2.1")).is(200)
	})
}

// Fifty clients add overrides and change zones at the same time. Nothing is lost, and every status is that of
// success.
func TestRulesConcurrentWriters(t *testing.T) {
	inEachStore(t, func(t *testing.T, g *gateway) {
		const writers = 50
		var all sync.WaitGroup
		for i := range writers {
			all.Go(func() {
				own := *g
				own.client = newClient()
				defer own.client.CloseIdleConnections()
				own.admin("POST", "/rate_limit/overrides", fmt.Sprintf(`{"id": "w%d", "zone": "user", "key": "k%d", "limit": "5/1h"}`, i, i)).is(201)
				own.admin("PATCH", "/rate_limit/overrides/w"+fmt.Sprint(i), `{"limit": null, "multiplier": 2}`).is(200)
			})
		}
		all.Wait()
		var answer struct {
			Overrides []struct{ Multiplier float64 }
		}
		r := g.admin("GET", "/rate_limit/overrides", "").is(200).has("ETag", fmt.Sprintf("%q", fmt.Sprint(2*writers)))
		if err := json.Unmarshal([]byte(r.body), &answer); err != nil || len(answer.Overrides) != writers {
			t.Fatalf("overrides = %d, %v, want %d", len(answer.Overrides), err, writers)
		}
		for _, o := range answer.Overrides {
			if o.Multiplier != 2 {
				t.Errorf("an update is lost: %s", r.body)
				break
			}
		}
	})
}

// Pages of other origins can change nothing, even if the admin endpoint listens on all interfaces and the
// page's name was rebound to it: browsers send Origin with each change.
func TestRulesBrowsersCanChangeNothing(t *testing.T) {
	check := func(g *gateway, headers ...string) {
		g.t.Helper()
		for _, tc := range [][3]string{
			{"POST", "overrides", `{"zone": "user", "key": "a", "limit": "5/1h"}`},
			{"PUT", "rules", `{"zones": {"user": {"limit": "block"}}}`},
			{"PATCH", "rules", `{"zones": {"user": {"limit": "block"}}}`},
			{"POST", "rules/versions/0/rollback", `{}`},
			{"POST", "zones/user/reset", `{"key": "a"}`},
			{"DELETE", "overrides/x", ""},
			{"DELETE", "emergency?all_nodes=true", ""},
		} {
			r := g.admin(tc[0], "/rate_limit/"+tc[1], tc[2], append(headers, "If-Match: *")...)
			if r.status != 403 && r.status != 400 {
				g.t.Errorf("%s %s with %q = %d, want 403 or 400", tc[0], tc[1], headers, r.status)
			}
		}
	}
	g := serve(t, rulesZone)
	check(g, "Origin: http://attacker.example")
	check(g, "Origin: null")
	check(g, "Host: attacker.example:"+redistest.Port(adminAddr))
	check(g, "Host: attacker.example:"+redistest.Port(adminAddr), "Origin: http://attacker.example:"+redistest.Port(adminAddr))
	check(g, "Sec-Fetch-Mode: no-cors", "Origin: http://"+adminAddr)

	rebound := "attacker.example:" + redistest.Port(adminAddr)
	g.mustLoad(strings.Replace(g.caddyfile("", rulesZone), "admin "+adminAddr, "admin loopback/:"+redistest.Port(adminAddr), 1))
	check(g, "Origin: http://attacker.example")
	check(g, "Host: "+rebound, "Origin: http://"+rebound)
	if len(g.logged("admin endpoint on open interface; host checking disabled")) == 0 {
		t.Error("Caddy checks the Host, want an endpoint where it does not")
	}
	g.admin("OPTIONS", "/rate_limit/rules", "", "Host: "+rebound, "Origin: http://"+rebound).is(403)
	g.admin("GET", "/rate_limit/rules", "", "Host: "+rebound).is(200).has("ETag", `"0"`)
}

// The network loopback listens on the loopback interface alone. Caddy takes its address :2019 for one of all
// interfaces.
func init() {
	caddy.RegisterNetwork("loopback", func(ctx context.Context, _, _, ports string, offset uint, config net.ListenConfig) (any, error) {
		address, err := caddy.ParseNetworkAddress(net.JoinHostPort("127.0.0.1", ports))
		if err != nil {
			return nil, err
		}
		return address.Listen(ctx, offset, config)
	})
}

// A rollback to any version restores exactly its rules and what they do.
func TestRulesRollbackRestoresBehaviour(t *testing.T) {
	g := serve(t, rulesZone)
	patches := []string{
		`{"zones": {"user": {"limit": "30/1h"}}}`,
		`{"zones": {"user": {"tiers": {"pro": "60/1h"}, "endpoints": {"POST /v1/search*": {"limit": "20/1h"}}}}}`,
		`{"overrides": [{"id": "1", "zone": "user", "key": "alice", "multiplier": 2}, {"id": "2", "zone": "user", "key": "bob", "limit": "block"}]}`,
		`{"tiers": [{"id": "1", "zone": "user", "key": "bob", "tier": "free"}], "zones": {"user": {"dry_run": "50%"}}}`,
		`{"access": [{"id": "1", "action": "allow", "zone": "user", "key": "alice"}], "overrides": null}`,
		`{"zones": {"user": null, "all": {"limit": "unlimited"}}}`,
		`{"overrides": [{"id": "1", "zone": "user", "key": "alice", "endpoint": "POST /v1/search*", "limit": "9/1h"}], "access": null}`,
	}
	state := func() string {
		text := g.admin("GET", "/rate_limit/rules", "").is(200).body + g.admin("GET", "/rate_limit/zones", "").is(200).body
		for _, key := range []string{"alice", "bob", "sk_pro_1"} {
			o := g.admin("POST", "/rate_limit/zones/user/inspect", `{"key": "`+key+`"}`).is(200).object()
			delete(o, "version")
			for _, c := range o["counts"].([]any) {
				count, _ := c.(map[string]any)["count"].(map[string]any)
				delete(count, "reset_at")
			}
			text += fmt.Sprint(o)
		}
		return text
	}
	states := []string{state()}
	for _, patch := range patches {
		g.admin("PATCH", "/rate_limit/rules", patch, "If-Match: *").is(200)
		states = append(states, state())
	}
	for _, version := range []int{3, 0, 6, 1, 7, 2, 5, 4} {
		g.admin("POST", fmt.Sprintf("/rate_limit/rules/versions/%d/rollback", version), `{}`).is(200)
		if got := state(); got != states[version] {
			t.Errorf("after a rollback to version %d:\n%s\nwant\n%s", version, got, states[version])
		}
	}
}

// The rules of a node outlive reloads. They also outlive the zone that they are about, and do not prevent
// other changes.
func TestRulesOutliveConfiguration(t *testing.T) {
	g := serve(t, rulesZone)
	g.admin("POST", "/rate_limit/overrides", `{"zone": "user", "key": "alice", "limit": "4/1h"}`).is(201)
	g.reload(strings.Replace(rulesZone, "zone user", "zone person", 1))
	g.admin("POST", "/rate_limit/overrides", `{"zone": "person", "key": "alice", "limit": "2/1h"}`).is(201)
	g.admits(2, alice)
	g.reload(rulesZone)
	g.admits(4, alice)
	g.reload("respond hello")
	g.admin("GET", "/rate_limit/rules", "").is(404).says("use one with rate_limit")
}

// Each change of the rules is one line of the log and one event. A reload is no change.
func TestChangesOfRulesAreReported(t *testing.T) {
	g := serveWith(t, "events {\non rate_limit_rules witness\n}", rulesZone)
	takeWitnessed()
	g.admin("POST", "/rate_limit/overrides?note=a+launch", `{"id": "o", "zone": "user", "key": "alice", "limit": "5/1h"}`).added()
	g.mustLoad(g.caddyfile("events {\non rate_limit_rules witness\n}", rulesZone))
	g.admin("DELETE", "/rate_limit/overrides/o", "").is(200)
	var events []map[string]any
	redistest.Eventually(t, "the events", func() bool {
		events = append(events, takeWitnessed()...)
		return len(events) == 2
	})
	slices.SortFunc(events, func(a, b map[string]any) int { return int(a["version"].(int64) - b["version"].(int64)) })
	logged := g.logged("the rules have changed")
	if len(logged) != 2 {
		t.Fatalf("the log has %v, want two lines", logged)
	}
	for i, change := range []struct{ note, what string }{{"a launch", "added"}, {"", "removed"}} {
		note, summary := change.note, "overrides.o "+change.what+": limit 5/1h, zone user"
		author, _ := events[i]["author"].(string)
		if !strings.HasPrefix(author, "127.0.0.1:") || logged[i]["author"] != author {
			t.Errorf("author of change %d = %q, and %q in the log, want the address of the client", i+1, author, logged[i]["author"])
		}
		want := fmt.Sprint(map[string]any{"version": i + 1, "author": author, "note": note, "store": "storage", "summary": summary})
		if got := fmt.Sprint(events[i]); got != want {
			t.Errorf("event %d = %s, want %s", i+1, got, want)
		}
		for name, value := range map[string]any{"level": "info", "version": float64(i + 1), "note": note, "store": "storage", "summary": summary} {
			if logged[i][name] != value {
				t.Errorf("change %d: %s in the log = %v, want %v", i+1, name, logged[i][name], value)
			}
		}
	}
}
