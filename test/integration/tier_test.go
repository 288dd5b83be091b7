package integration

import (
	"strings"
	"testing"

	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// TestUnknownTierIsSeen sends requests whose tier is spelled in another case than in the zone. They
// have the default tier, and everything that operators see says why.
func TestUnknownTierIsSeen(t *testing.T) {
	g := newGateway(t)
	g.mustLoad(g.caddyfile("", "log\nrate_limit {\nlog_rejections all\nzone plans {\nkey {header.X-User}\n"+
		"tier {header.X-Tier} trusted {\nfree 1/1h\npro 9/1h\ndefault free\n}\n}\n}\nrespond ok"))
	f := g.follow("sample=1", "")
	g.get("/unknown", alice, "X-Tier: Pro").is(200)
	g.get("/unknown", alice, "X-Tier: Pro").is(429)
	g.get("/known", "X-User: bob", "X-Tier: pro").is(200)
	for _, want := range []string{"Pro", "Pro", ""} {
		if l := f.next(); l.TierUnknown != want {
			t.Errorf("a decision has tier_unknown %q, want %q: %+v", l.TierUnknown, want, l)
		}
	}
	if got := g.metric(`caddy_rate_limit_unknown_tiers_total{zone="plans"}`); got != 2 {
		t.Errorf("unknown_tiers_total = %v, want 2", got)
	}
	warnings := g.logged("the tier of a request is none of the zone's: use one of them, spelled as here, in what sets it")
	if len(warnings) != 1 || warnings[0]["tier_unknown"] != "Pro" || warnings[0]["default"] != "free" {
		t.Errorf("warnings = %v, want one about Pro", warnings)
	}
	if lines := g.logged("rate limit exceeded"); len(lines) != 1 || lines[0]["tier_unknown"] != "Pro" {
		t.Errorf("rejections in the log = %v, want one with tier_unknown Pro", lines)
	}
	redistest.Eventually(t, "the access log", func() bool { return len(g.logged("handled request")) == 3 })
	for i, want := range []any{"Pro", "Pro", nil} {
		if field := g.logged("handled request")[i]["rate_limit"].(map[string]any); field["tier_unknown"] != want {
			t.Errorf("line %d of the access log = %v, want tier_unknown %v", i, field, want)
		}
	}
}

// TestStoredTierInAnotherCase checks that a rule whose tier the configuration does not have any
// more is left out and logged.
func TestStoredTierInAnotherCase(t *testing.T) {
	site := func(tier string) string {
		return "rate_limit {\nzone plans {\nkey {header.X-User}\ntier {\nfree 1/1h\n" + tier + " 9/1h\nkeys x_* " + tier +
			"\ndefault free\n}\n}\n}\nrespond ok"
	}
	g := serve(t, site("Pro"))
	g.admin("POST", "/rate_limit/tiers", `{"id": "acme", "zone": "plans", "key": "alice", "tier": "Pro"}`).is(201)
	g.get("/", alice).is(200)
	g.get("/", alice).is(200)
	g.admin("POST", "/rate_limit/tiers", `{"zone": "plans", "key": "bob", "tier": "pro"}`).is(400).says(`use \"Pro\"`)
	g.reload(site("pro"))
	g.get("/", alice).is(429) // the second request is above the limit of free
	lines := g.logged("a rule is not in force, because it does not fit the configuration: use rules that fit, or delete the rule")
	if len(lines) == 0 {
		t.Error("a rule with a tier that is not there is not logged")
	}
}

// A pattern for all keys may give them the tier that is the default, too.
func TestDefaultOfAllKeys(t *testing.T) {
	g := serve(t, "rate_limit {\nzone user {\nkey {header.X-User}\ntier {\npro 9/1h\nkeys * pro\ndefault pro\n}\n}\n}\nrespond hello")
	g.get("/", alice).admitted(8)
}

// The empty text names no tier.
func TestEmptyTierIsRefused(t *testing.T) {
	g := serveWith(t, "rate_limit {\nzone user {\nkey {header.X-User}\ntier {\npro 9/1h\nkeys x_* pro\n}\nlimit 3/1h\n}\n}",
		"rate_limit {\nzone user\n}\nrespond hello")
	if err := g.patch("apps/rate_limit/zones/user/tier/keys/0/tier", `""`); err == nil || !strings.Contains(err.Error(), "is not a tier of the zone") {
		t.Errorf("keys of no tier: %v, want an error", err)
	}
	g.admin("POST", "/rate_limit/tiers", `{"zone": "user", "key": "alice", "tier": ""}`).is(400)
}

// A tier that operators give a key decides, whatever the request says.
func TestStoredTierComesFirst(t *testing.T) {
	g := serve(t, "rate_limit {\nzone user {\nkey {header.X-User}\nlimit 9/1h\ndeny_key bad\ntier {header.X-Plan} trusted {\npro 20/1h\n}\n}\n}\n"+
		"respond hello")
	g.admin("POST", "/rate_limit/tiers", `{"id": "t", "zone": "user", "key": "alice", "tier": "pro"}`).is(201)
	g.raw(rawGet("/", alice, "X-Plan: a", "X-Plan: b")).admitted(19)
	g.raw(rawGet("/", "X-User: bob", "X-Plan: a", "X-Plan: b")).is(400)
	g.admin("POST", "/rate_limit/access", `{"id": "a", "action": "allow", "zone": "user", "key": "bad"}`).is(201)
	g.get("/", "X-User: bad").is(403) // the configuration denies it
}

// An override of a key that stands in for a missing one changes the limit of requests without a
// key.
func TestOverrideOfMissingKey(t *testing.T) {
	g := serve(t, "rate_limit {\nzone user {\nkey {header.X-User}\non_missing_key {client_ip} 3/1h\nlimit 9/1h\n}\n}\nrespond hello")
	g.admin("POST", "/rate_limit/overrides", `{"id": "o", "zone": "user", "key": "192.0.2.1", "missing": true, "limit": "6/1h"}`).is(201)
	g.get("/", from("192.0.2.1")).admitted(5)
	g.get("/", from("192.0.2.2")).admitted(2)
}
