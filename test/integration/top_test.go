package integration

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

const topZone = `
	rate_limit {
		log_key
		zone user {
			key {header.X-User}
			limit 5/1h
			algorithm fixed_window
			tier {header.X-Tier} trusted {
				free 2/1h
				pro 60/1h
			}
			endpoint POST /v1/search* 20/1h
		}
		zone pair {
			match {
				header X-B *
			}
			key {header.X-User}:{header.X-B}
			limit 5/1h
		}
		zone exact {
			key {header.X-User}
			limit 50/1h
			mode strict
		}
		zone at_once {
			match {
				path /at-once
			}
			key {header.X-User}
			concurrent 9
		}
	}
	respond hello`

// A topEntry is what the API lists about a key.
type topEntry map[string]any

// top returns what GET top lists of a zone.
func (g *gateway) top(zone, query string) (keys []topEntry) {
	g.t.Helper()
	o := g.admin("GET", "/rate_limit/zones/"+zone+"/top"+query, "").is(200).object()
	if o["zone"] != zone || o["node"] == "" {
		g.t.Errorf("zone %v, node %v; want %s and a name", o["zone"], o["node"], zone)
	}
	for _, k := range o["keys"].([]any) {
		keys = append(keys, k.(map[string]any))
	}
	return keys
}

// checkTop checks which keys are listed: key, endpoint, limit, and " rejected".
func (g *gateway) checkTop(zone, query string, want ...string) {
	g.t.Helper()
	var got []string
	last := 1e9
	for _, k := range g.top(zone, query) {
		text := fmt.Sprintf("%v %v %v", k["key"], k["endpoint"], k["limit"])
		if k["missing"] == true {
			text += " missing"
		}
		taken, rejected := k["taken_per_second"].(float64), k["rejected_per_second"].(float64)
		if rejected > 0 {
			text += " rejected"
		}
		use := k["demand_per_second"].(float64)
		if use <= 0 || use > last || math.Abs(use-taken-rejected) > 0.02 || k["error_per_second"] != 0.0 {
			g.t.Errorf("%s: %v after a demand of %v", text, k, last)
		}
		got, last = append(got, strings.ReplaceAll(text, "<nil>", "-")), use
	}
	if !slices.Equal(got, want) {
		g.t.Errorf("top of %s%s =\n%s\nwant\n%s", zone, query, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestAdminTop(t *testing.T) {
	inEachStoreOf(t, topZone, func(t *testing.T, g *gateway) {
		g.checkTop("user", "")
		send := func(n int, method, path string, headers ...string) {
			for range n {
				g.request(method, path, headers...)
			}
		}
		send(30, "POST", "/v1/search/x", "X-User: heavy")
		send(10, "GET", "/", "X-User: pro", "X-Tier: pro")
		send(4, "GET", "/", "X-User: heavy")
		send(2, "GET", "/", from("192.0.2.7"))
		send(1, "GET", "/", "X-User: once", "X-Tier: free")
		heavy, missing := "heavy POST /v1/search* 20/1h rejected", "192.0.2.7 - 5/1h missing"
		all := []string{heavy, "pro - 60/1h", "heavy - 5/1h", missing, "once - 2/1h"}
		g.checkTop("user", "", all...)
		g.checkTop("user", "?limit=2", all[:2]...)
		g.checkTop("user", "?endpoint=POST+/v1/search*", heavy)
		g.checkTop("exact", "?limit=1", "heavy - 50/1h")
		g.checkTop("user", "?by=rejected", heavy)
		if used := g.top("user", "?by=utilisation&limit=1")[0]; used["utilisation"].(float64) <= 1 {
			t.Errorf("the key that uses most of its limit = %v, want one above it, as its events came at once", used)
		}

		send(3, "GET", "/at-once", "X-User: one")
		g.checkTop("at_once", "", "one - concurrent 9")

		// The list shows the limit in force, even if it is that of an override or was changed.
		g.admin("POST", "/rate_limit/overrides", `{"zone": "user", "key": "pro", "limit": "1000/1h", "id": "o"}`).is(201)
		g.request("GET", "/", "X-User: pro", "X-Tier: pro").is(200)
		if keys := g.top("user", "?limit=2"); keys[1]["limit"] != "1000/1h" {
			t.Errorf("limit of a key with an override = %v", keys[1]["limit"])
		}
	})
}

// Requests that the node rejects by itself count, too: a flood on an exhausted key comes first.
func TestAdminTopShowsFloods(t *testing.T) {
	inEachStoreOf(t, topZone, func(t *testing.T, g *gateway) {
		for range 300 {
			g.request("GET", "/", "X-User: flood")
		}
		for i := range 40 {
			g.request("GET", "/", fmt.Sprintf("X-User: busy-%d", i%2), "X-Tier: pro")
		}
		k := g.top("user", "?limit=1")[0]
		if taken, rejected := k["taken_per_second"].(float64), k["rejected_per_second"].(float64); k["key"] != "flood" ||
			rejected < 20*taken {
			t.Errorf("the first key = %v, want the flood, of which nearly all is rejected", k)
		}
	})
}

// Keys may be secrets. They are shown only with log_key, except addresses, which are always shown.
func TestAdminTopShortensKeys(t *testing.T) {
	g := serve(t, strings.Replace(topZone, "log_key", "", 1))
	g.request("GET", "/", "X-User: sk_live_0123456789").is(200)
	g.request("GET", "/", from("192.0.2.7")).is(200)
	keys := g.top("user", "")
	if len(keys) != 2 {
		t.Fatalf("keys = %v, want two", keys)
	}
	for _, k := range keys {
		if k["missing"] == true {
			if k["key"] != "192.0.2.7" {
				t.Errorf("the address is shown as %v", k)
			}
			continue
		}
		if k["key"] != nil || k["key_base64"] != nil || k["key_stored"] != nil || k["key_shortened"] != "sk_l…" ||
			k["key_hash"] != "79d11b86a8bc" {
			t.Errorf("the secret key is shown as %v", k)
		}
	}
}

// An operator can copy the name of a listed key into another request, whatever the key is.
func TestAdminTopNamesKeys(t *testing.T) {
	long := strings.Repeat("x", 100)
	for _, tc := range []struct{ zone, user, b, want string }{
		{"exact", "sk_1", "", `"key":"sk_1"`},
		{"exact", "\xff\xfe", "", `"key_base64":"//4="`},
		{"exact", long, "", `"key_stored":"`},
		{"pair", "a", "b", `"key":"a:b"`},
		{"pair", "a:b", "c", `"key":"a:b:c"`}, // "a" with "b:c" has the same text
		{"pair", long, "c", `"key_stored":"`},
	} {
		inEachStoreOf(t, topZone, func(t *testing.T, g *gateway) {
			headers := []string{"X-User: " + tc.user, "X-B: " + tc.b}
			g.request("GET", "/", headers...).is(200)
			g.request("GET", "/", headers...).is(200)
			g.admin("GET", "/rate_limit/zones/"+tc.zone+"/top", "").is(200).says(tc.want)
			keys := g.top(tc.zone, "")
			if len(keys) != 1 {
				t.Fatalf("%d keys are listed, want one: %v", len(keys), keys)
			}
			var name string
			for _, member := range []string{"key_stored", "key_base64", "key"} { // the first that is present names the key
				if value := keys[0][member]; value != nil {
					name = fmt.Sprintf("%q: %q", member, value)
					break
				}
			}
			inspected := func() float64 {
				t.Helper()
				o := g.admin("POST", "/rate_limit/zones/"+tc.zone+"/inspect", "{"+name+"}").is(200).object()
				return o["counts"].([]any)[0].(map[string]any)["count"].(map[string]any)["consumed"].(float64)
			}
			if n := inspected(); n < 2 {
				t.Errorf("consumed of the key %s = %v, want 2 or more, as some may be leased", name, n)
			}
			g.admin("POST", "/rate_limit/zones/"+tc.zone+"/reset", "{"+name+"}").is(200)
			if n := inspected(); n != 0 {
				t.Errorf("consumed of the key %s after a reset = %v, want 0", name, n)
			}
			g.admin("POST", "/rate_limit/zones/"+tc.zone+"/quota", "{"+name+`, "events": 1}`).is(200)
			g.admin("GET", "/rate_limit/rules/versions", "").is(200).says(strings.ReplaceAll(name, ": ", ":"))
		})
	}
}

func TestAdminTopRefuses(t *testing.T) {
	g := serve(t, topZone)
	for query, want := range map[string]string{
		"?limit=0":           `limit is \"0\": use a number from 1`,
		"?limit=101":         "limit is 101: use 1 to 100",
		"?by=demnd":          `by is \"demnd\": use demand, taken, rejected or utilisation`,
		"?fleet=1":           `fleet is \"1\": use true or false`,
		"?limit=x":           `limit is \"x\": use a number from 1`,
		"?endpoint=/v1/serc": `there is no endpoint \"/v1/serc\": use one of [\"POST /v1/search*\"]`,
	} {
		g.admin("GET", "/rate_limit/zones/user/top"+query, "").is(400).says(want)
	}
	g.admin("GET", "/rate_limit/zones/usr/top", "").is(404).says(`there is no zone \"usr\": use one of [\"user\"]`)
	g.admin("POST", "/rate_limit/zones/user/top", "{}").is(405).has("Allow", "GET, HEAD")
	g.admin("HEAD", "/rate_limit/zones/user/top", "").is(200)
	for body, want := range map[string]string{
		`{"key_stored": "?"}`:                   "use what GET /rate_limit/zones/{zone}/top shows",
		`{"key_stored": "eHg="}`:                "use what GET /rate_limit/zones/{zone}/top shows",
		`{"key_stored": "a3Rh", "key": "a"}`:    "there are both key_stored and a key: use one of them",
		`{"key_stored": "a3Rh", "keys": ["a"]}`: "there are both keys and a key: use one of them",
	} {
		g.admin("POST", "/rate_limit/zones/user/reset", body).is(400).says(want)
	}
	g.admin("POST", "/rate_limit/zones/user/inspect", `{"key_stored": "a3Rh"}`).is(200).
		says(`"key":"a"`, `"key_stored":"a3Rh"`)
}
