package integration

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/internal/key/keytemplate"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// historyZone is a zone whose keys may be secrets.
func historyZone(limit string) string {
	return `rate_limit {
		zone user {
			key {header.X-User}
			limit ` + limit + `
			mode strict
			tier {header.X-Tier} trusted {
				pro 60/1h
			}
		}
		zone address {
			key {client_ip}
			limit 100000/1h
		}
	}
	respond hello`
}

// history returns what POST /rate_limit/history answers.
func (g *gateway) history(body string) (h *api.History) {
	g.t.Helper()
	answer := g.admin("POST", "/rate_limit/history", body).is(200)
	if err := json.Unmarshal([]byte(answer.body), &h); err != nil {
		g.t.Fatal(err)
	}
	return h
}

// varying matches the parts of events that differ each time.
var varying = regexp.MustCompile(`\d{4}-\d\d-\d\dT[\d:.]+Z`)

// eventsOf returns the events of a history, the oldest first.
func eventsOf(h *api.History) (all []string) {
	for _, e := range slices.Backward(h.Events) {
		text := e.Kind
		for _, more := range []string{e.Zone, e.Key + e.Shortened, e.Endpoint, e.Tier, e.What, e.Author, e.Reason, e.Entry} {
			if more != "" {
				text += " | " + more
			}
		}
		if (e.Version > 0) == (e.Node != "") && e.Author != "expiry" { // an expiry may not be in a version yet
			text += fmt.Sprintf(" | version %d and node %q", e.Version, e.Node)
		}
		all = append(all, varying.ReplaceAllString(text, "TIME"))
	}
	return all
}

// awaitEvent waits until a history has an event of a kind.
func (g *gateway) awaitEvent(body, kind string) {
	g.t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; <-time.After(10 * time.Millisecond) {
		h := g.history(body)
		if slices.ContainsFunc(h.Events, func(e api.HistoryEvent) bool { return e.Kind == kind }) {
			return
		}
		if time.Now().After(deadline) {
			g.t.Fatalf("there is no %s in %v", kind, eventsOf(h))
		}
	}
}

func (g *gateway) changeAs(author, method, path, body string) *reply {
	g.t.Helper()
	return g.admin(method, "/rate_limit/"+path+"?author="+author, body)
}

// TestAdminHistory does to a key what operators and clients do, and reads the history of the key.
func TestAdminHistory(t *testing.T) {
	for _, store := range []string{"memory", "redis"} {
		t.Run(store, func(t *testing.T) {
			options := ""
			if store == "redis" {
				options = "rate_limit {\nredis {\naddress " + redistest.NewServer(t).Addr + "\ntimeout 10s\n}\n}"
			}
			g := serveWith(t, options, historyZone("3/1h"))
			const key = "sk_live_4711"
			for range 3 {
				g.get("/", "X-User: "+key).is(200)
			}
			g.get("/", "X-User: "+key).is(429)
			g.get("/", "X-User: "+key).is(429)
			g.changeAs("alice", "POST", "overrides", `{"id": "launch", "zone": "user", "key": "`+key+`", "multiplier": 2, "expires_in": "1h", "reason": "launch day"}`).is(201)
			g.get("/", "X-User: "+key).is(200)
			g.changeAs("bob", "POST", "overrides", `{"id": "other", "zone": "user", "key": "other", "limit": "9/1h"}`).is(201)
			g.changeAs("bob", "DELETE", "overrides/launch", "").is(200)
			g.changeAs("carol", "POST", "overrides", `{"id": "brief", "zone": "user", "key": "`+key+`", "limit": "5/1h", "expires_in": "50ms"}`).is(201)
			g.changeAs("carol", "POST", "zones/user/reset", `{"key": "`+key+`", "reason": "ticket 4711"}`).is(200)
			g.changeAs("carol", "POST", "zones/user/quota", `{"key_hash": "`+keytemplate.Hash(key)+`", "events": 1}`).is(200)
			g.get("/", "X-User: "+key, "X-Tier: pro").is(200)
			g.changeAs("dave", "PATCH", "rules", `{"zones": {"user": {"limit": "2/1h"}}}`).is(200)
			g.addr = redistest.FreeAddr()
			g.mustLoad(g.caddyfile(options, historyZone("7/1h")))
			g.awaitEvent(`{"zone": "user", "key": "`+key+`"}`, "override_expired")

			want := []string{
				"rejected | user | 3/1h",
				"override_made | user | x2 until TIME | alice | launch day | launch",
				"override_ended | user | x2 | bob | launch",
				"override_made | user | 5/1h until TIME | carol | brief",
				"reset | user | carol | ticket 4711",
				"add_quota | user | 1 events | carol",
				"tier_seen | user | pro | no tier to pro",
				"limit_changed | user | limit 2/1h | dave",
				"reload | user | zone changed; settings: limit",
				"override_expired | user | 5/1h | expiry | brief",
			}
			check := func(what string, h *api.History, want []string) {
				t.Helper()
				got := eventsOf(h)
				sorted := func(all []string) []string { all = slices.Clone(all); slices.Sort(all); return all } // the place of the expiry varies
				if !slices.Equal(sorted(got), sorted(want)) {
					t.Errorf("history of %s =\n%s\nwant\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
				}
				if !slices.IsSortedFunc(h.Events, func(a, b api.HistoryEvent) int { return b.Time.Compare(a.Time) }) {
					t.Errorf("history of %s is not in order", what)
				}
				for _, e := range h.Events {
					if e.Kind == "rejected" && (e.Times != 1 || e.ClientIP != "127.0.0.1" || e.Method != "GET" || e.Path != "/") {
						t.Errorf("history of %s: a rejection in %d windows, first %s %s from %s; want one, GET / from 127.0.0.1", what, e.Times, e.Method, e.Path, e.ClientIP)
					}
				}
				if h.OldestVersion != 1 || h.More || h.RulesError != "" {
					t.Errorf("history of %s goes back to version %d, more %v, %s; want all", what, h.OldestVersion, h.More, h.RulesError)
				}
			}
			h := g.history(`{"zone": "user", "key": "` + key + `"}`)
			check("the key", h, want)
			if h.Key != key || h.Hash != keytemplate.Hash(key) {
				t.Errorf("the history is of %+v, want the key that was named, with its hash", h.ShownKey)
			}
			h = g.history(`{"key_hash": "` + keytemplate.Hash(key) + `"}`)
			check("the hash", h, want)
			if text, _ := json.Marshal(h); strings.Contains(string(text), key) || h.Shortened != "sk_…" {
				t.Errorf("the history of a hash shows %s, want the key shortened", text)
			}
			of := func(text string) string { return strings.Replace(text, "| user", "| user | sk_…", 1) }
			ofZone := []string{"override_made | user | o… | 9/1h | bob | other"}
			for _, text := range want {
				if !strings.HasPrefix(text, "reload") && !strings.HasPrefix(text, "limit_changed") {
					text = of(text)
				}
				ofZone = append(ofZone, text)
			}
			check("the zone", g.history(`{"zone": "user"}`), ofZone)
		})
	}
}

// TestAdminHistoryRefuses checks the answers to wrong requests, and that a key of no zone is refused.
func TestAdminHistoryRefuses(t *testing.T) {
	g := serve(t, historyZone("3/1h"))
	for body, want := range map[string]string{
		`{}`:                                  "there is neither a key nor a zone: use ",
		`{"zone": "usr"}`:                     `there is no zone \"usr\": use one of [\"user\"]`,
		`{"zone": "user", "limit": 0}`:        "limit is 0: use 1 to 1000",
		`{"zone": "user", "versions": 1001}`:  "versions is 1001: use 1 to 1000",
		`{"zone": "user", "key_hash": "xyz"}`: `key_hash is \"xyz\": use the 12 digits that logs`,
		`{"key_stored": "a3Rh"}`:              "key_stored is a key of one zone: use it with zone",
		`{"zone": "user", "key_hash": "2bd806c97f0e", "key": "a"}`: "there are both key_hash and a key: use one of them",
	} {
		g.admin("POST", "/rate_limit/history", body).is(400).says(want)
	}
	g.admin("POST", "/rate_limit/history", `{"key_hash": "2bd806c97f0e"}`).is(404).says(`this node knows no key of zone \"address\"`)
	g.admin("POST", "/rate_limit/history", `{"key": "alice"}`).is(200).says(`"zones":["address","user"]`, `"events":[]`)
	g.admin("GET", "/rate_limit/history", "").is(405)
}

// TestAdminKeyHash names a key by its hash, as a list or a line of the log shows the hash.
func TestAdminKeyHash(t *testing.T) {
	inEachStoreOf(t, historyZone("3/1h"), func(t *testing.T, g *gateway) {
		const key = "sk_live_4711"
		hash := keytemplate.Hash(key)
		g.admin("POST", "/rate_limit/zones/user/inspect", `{"key_hash": "`+hash+`"}`).is(404).
			says(`this node knows no key of zone \"user\" with the hash `+hash, "use the key itself")
		for range 3 {
			g.get("/", "X-User: "+key).is(200)
		}
		inspected := g.admin("POST", "/rate_limit/zones/user/inspect", `{"key_hash": "`+strings.ToUpper(hash)+`"}`).is(200)
		inspected.says(`"key_shortened":"sk_…"`, `"key_hash":"`+hash+`"`, `"consumed":3`)
		if strings.Contains(inspected.body, key) {
			t.Errorf("the key by its hash is shown: %s", inspected.body)
		}
		g.admin("POST", "/rate_limit/zones/user/inspect", `{"key": "`+key+`"}`).is(200).says(`"key":"`+key+`"`, `"key_hash":"`+hash+`"`)
		g.admin("POST", "/rate_limit/zones/user/reset", `{"key_hash": "`+hash+`"}`).is(200)
		g.get("/", "X-User: "+key).is(200)
		g.admin("POST", "/rate_limit/overrides", `{"zone": "user", "key_hash": "`+hash+`", "limit": "1/1h"}`).is(201).says(`"key":"` + key + `"`)
		g.get("/", "X-User: "+key).is(429)
		g.admin("POST", "/rate_limit/zones/user/overrides", `{"key_hash": "`+hash+`"}`).is(200).says(`"limit":"1/1h"`)
		for _, body := range []string{`{"zone": "user", "key_hash": "` + hash + `", "key": "a", "limit": "1/1h"}`, `{"key_hash": 7, "limit": "1/1h"}`} {
			g.admin("POST", "/rate_limit/overrides", body).is(400)
		}
		g.admin("POST", "/rate_limit/zones/user/reset", `{"key_hash": "`+hash+`", "keys": ["a", "b"]}`).is(400).says("there are both keys and a key")
	})
}

// TestKeyHashOfQuietKey finds two keys by their hashes: one that is in no list, because other keys are used
// more, and one that only rules name.
func TestKeyHashOfQuietKey(t *testing.T) {
	inEachStoreOf(t, historyZone("3/1h"), func(t *testing.T, g *gateway) {
		for i := range 1500 {
			g.get("/", fmt.Sprint("X-User: quiet_", i)).is(200)
		}
		for _, key := range []string{"quiet_0", "quiet_700", "quiet_1499"} {
			g.admin("POST", "/rate_limit/zones/user/inspect", `{"key_hash": "`+keytemplate.Hash(key)+`"}`).is(200).says(`"consumed":1`)
		}
		g.admin("POST", "/rate_limit/tiers", `{"zone": "user", "key": "never seen", "tier": "pro"}`).is(201)
		g.admin("POST", "/rate_limit/zones/user/inspect", `{"key_hash": "`+keytemplate.Hash("never seen")+`"}`).is(200).says(`"name":"pro"`)
	})
}
