package integration

import (
	"slices"
	"strings"
	"testing"
)

// If the rules or the configuration deny or allow a client address, that shows: in inspect, where the key is
// the address, and among the decisions about the address. A request that passes both directives counts once.
func TestAccessByAddressIsVisible(t *testing.T) {
	g := serve(t, `
	rate_limit {
		allow 203.0.113.0/24
		zone ip {
			key {client_ip}
			limit 8/1h
		}
		zone user {
			key {header.X-User}
			limit 8/1h
		}
	}
	rate_limit_authenticated {
		allow 203.0.113.0/24
		zone late {
			key {header.X-User}
			limit 8/1h
		}
	}
	respond hello`)
	inspect := func(zone, body string) *reply {
		t.Helper()
		return g.admin("POST", "/rate_limit/zones/"+zone+"/inspect", body).is(200)
	}
	g.admin("POST", "/rate_limit/access", `{"id": "scraper", "action": "deny", "address": "192.0.2.0/24"}`).is(201)
	g.admin("POST", "/rate_limit/access", `{"id": "friend", "action": "allow", "address": "192.0.2.7"}`).is(201)
	g.admin("POST", "/rate_limit/access", `{"id": "partner", "action": "allow", "address": "198.51.100.7"}`).is(201)
	const denied = `"access":{"action":"deny","source":"rules","entry":"scraper"}`
	inspect("ip", `{"key": "192.0.2.7"}`).says(denied)
	inspect("user", `{"key": "192.0.2.9", "missing": true}`).says(denied)
	inspect("ip", `{"key": "198.51.100.7"}`).says(`"access":{"action":"allow","source":"rules","entry":"partner"}`)
	inspect("ip", `{"key": "203.0.113.1"}`).says(`"access":{"action":"allow","source":"configuration"}`)
	for zone, body := range map[string]string{"ip": `{"key": "198.51.100.8"}`, "user": `{"key": "192.0.2.9"}`} {
		if r := inspect(zone, body); strings.Contains(r.body, `"access"`) {
			t.Errorf("inspect %s with %s = %s, want no access", zone, body, r.body)
		}
	}

	f := g.follow("for=1m&limit=1", `{"key": "192.0.2.9"}`)
	g.get("/", "X-User: a", from("192.0.2.8")).is(403)
	g.get("/", "X-User: a", from("192.0.2.9")).is(403)
	if l := f.next(); l.Outcome != "denied" || l.ClientIP != "192.0.2.9" || l.Zone != "" {
		t.Errorf("line = %+v, want the denial of 192.0.2.9", l)
	}
	f.ends("limit")

	allowed := func() float64 { return g.metric(`caddy_rate_limit_address_decisions_total{outcome="allowed"}`) }
	before := allowed()
	for range 3 {
		g.get("/", "X-User: a", from("203.0.113.9")).is(200)
	}
	if n := allowed() - before; n != 3 {
		t.Errorf("three requests count as %v allowed addresses, want 3", n)
	}
}

// The answer to an override without an effect says that it has none, and so does the command.
func TestOverridesWithoutEffect(t *testing.T) {
	inEachStore(t, func(t *testing.T, g *gateway) {
		add := func(key, more string) *reply {
			t.Helper()
			return g.admin("POST", "/rate_limit/overrides", `{"zone": "user", "key": "`+key+`", "limit": "9/1h"`+more+`}`).is(201)
		}
		const unsent, address = "no request with this key was counted lately", `use \"missing\": true`
		g.get("/", alice).is(200)
		g.get("/").is(200)
		if r := add("alice", ""); strings.Contains(r.body, "warnings") {
			t.Errorf("the override of a key that was sent answers %s, want no warning", r.body)
		}
		if r := add("127.0.0.1", `, "missing": true`); strings.Contains(r.body, "warnings") {
			t.Errorf("the override of a client without a key answers %s, want no warning", r.body)
		}
		g.get("/", "X-User: bob").is(200) // a multiplier this high refills its bucket at once
		if r := g.admin("POST", "/rate_limit/overrides", `{"zone": "user", "key": "bob", "multiplier": 1000000}`).is(201); strings.Contains(r.body, "warnings") {
			t.Errorf("an override that refills the bucket of a key answers %s, want no warning", r.body)
		}
		g.admin("POST", "/rate_limit/overrides?dry_run=true", `{"zone": "user", "key": "sk_pro_1", "multiplier": 2}`).is(200).says(
			`"limits":[{"limit":"12/1h","was":"6/1h"},{"endpoint":"POST /v1/search*","limit":"4/1h","was":"2/1h"}]`)
		path := add("Alice", "").says(`"warnings":["`, unsent).added()
		add("127.0.0.1", "").says(address)
		g.admin("PATCH", path, `{"limit": "8/1h"}`).is(200).says(unsent)
		g.admin("PATCH", path+"?dry_run=true", `{"limit": "7/1h"}`).is(200).says(unsent)
		if r := g.admin("GET", path, "").is(200); strings.Contains(r.body, "warnings") {
			t.Errorf("GET answers %s, want no warning", r.body)
		}
		g.admin("POST", "/rate_limit/tiers", `{"zone": "user", "key": "192.0.2.1", "tier": "pro"}`).is(201).says(address)
	})
}

// An entry is removed by its zone and key, or its address, so that nobody has to look for its ID.
func TestRemoveByKey(t *testing.T) {
	g := serve(t, rulesZone)
	for _, tc := range []struct{ list, entry, about, another string }{
		{"overrides", `{"id": "one", "zone": "user", "key": "k", "limit": "9/1h"}`, `{"zone": "user", "key_base64": "aw=="}`,
			`{"zone": "user", "key": "k", "missing": true}`},
		{"overrides", `{"id": "one", "zone": "user", "key": "k", "endpoint": "POST /v1/search*", "limit": "9/1h"}`,
			`{"zone": "user", "key": "k", "endpoint": "POST /v1/search*"}`, `{"zone": "user", "key": "k"}`},
		{"tiers", `{"id": "one", "zone": "user", "key": "k", "tier": "pro"}`, `{"zone": "user", "key": "k"}`, `{"zone": "all", "key": "k"}`},
		{"access", `{"id": "one", "action": "deny", "address": "192.0.2.1"}`, `{"address": "192.0.2.1/32"}`, `{"address": "192.0.2.0/24"}`},
		{"access", `{"id": "one", "action": "deny", "zone": "user", "key": "k"}`, `{"zone": "user", "key": "k"}`, `{"zone": "user", "key": "l"}`},
	} {
		path := "/rate_limit/" + tc.list
		g.admin("POST", path, tc.entry).is(201)
		g.admin("DELETE", path, tc.another).is(404).says("use GET " + path)
		g.admin("GET", path+"/one", "").is(200)
		g.admin("DELETE", path+"?dry_run=true", tc.about).is(200).says(`"dry_run":true`, `"path":"`+tc.list+`.one"`)
		g.admin("DELETE", path, tc.about).is(200).says(`"path":"` + tc.list + `.one"`)
		g.admin("GET", path+"/one", "").is(404)
	}
	g.admin("DELETE", "/rate_limit/overrides", `{"zone": "user", "kye": "k"}`).is(400).says(`unknown field \"kye\"`)
}

// A list is read page by page, each entry once.
func TestPagesOfEntries(t *testing.T) {
	g := serve(t, rulesZone)
	for _, id := range []string{"a", "b", "c"} {
		g.admin("POST", "/rate_limit/overrides", `{"id": "`+id+`", "zone": "user", "key": "`+id+`", "limit": "9/1h"}`).is(201)
	}
	var pages []string
	for query := "?limit=2"; query != ""; {
		page := g.admin("GET", "/rate_limit/overrides"+query, "").is(200).object()
		ids := ""
		for _, e := range page["overrides"].([]any) {
			ids += e.(map[string]any)["id"].(string)
		}
		pages = append(pages, ids)
		query = ""
		if next, more := page["next"].(string); more {
			query = "?limit=2&after=" + next
		}
	}
	if want := []string{"ab", "c"}; !slices.Equal(pages, want) {
		t.Errorf("pages = %q, want %q", pages, want)
	}
}

// The overrides of a key are looked up by the key alone, which travels in the body.
func TestRulesLookUpOverrides(t *testing.T) {
	g := serve(t, zoneSite("limit 2/1h"))
	for _, key := range []string{"alice", "bob"} {
		g.admin("POST", "/rate_limit/overrides", `{"zone": "user", "key": "`+key+`", "limit": "5/1h", "reason": "test"}`).is(201)
	}
	got := g.admin("POST", "/rate_limit/zones/user/overrides", `{"key": "alice"}`).is(200)
	if !strings.Contains(got.body, `"alice"`) || strings.Contains(got.body, `"bob"`) {
		t.Errorf("overrides of alice = %s", got.body)
	}
}
