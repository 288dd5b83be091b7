package fleetlimit

import (
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetlimit/fleetlimit/internal/keytemplate"
)

func TestTierOfKey(t *testing.T) {
	z := compiledZone(t, `{"key": "k", "limit": {"block": true}, "tier": {
		"placeholder": "{http.request.header.X-Tier}", "trusted": true, "default": "free",
		"keys": [{"glob": "sk_ent_*", "tier": "enterprise"}, {"glob": "sk_*", "tier": "pro"}],
		"tiers": {"free": {"unlimited": true}, "pro": {"unlimited": true}, "enterprise": {"unlimited": true}}}}`)
	for _, tc := range []struct {
		key      string
		header   []string
		want     string
		presence keytemplate.Presence
	}{
		{"sk_ent_1", []string{"free"}, "enterprise", keytemplate.Present},
		{"sk_1", []string{"free"}, "pro", keytemplate.Present},
		{"pk_1", []string{"pro"}, "pro", keytemplate.Present},
		{"pk_1", []string{"gold"}, "free", keytemplate.Present},
		{"pk_1", nil, "free", keytemplate.Missing},
		{"pk_1", []string{"pro", "free"}, "free", keytemplate.Ambiguous},
	} {
		r := requestFrom("192.0.2.1")
		r.Header["X-Tier"] = tc.header
		repl := r.Context().Value(caddy.ReplacerCtxKey).(*caddy.Replacer)
		tier, presence := z.tiers.find(func() string { return tc.key }, r, repl)
		if got := z.tiers.names[tier]; got != tc.want || presence != tc.presence {
			t.Errorf("tier of %s with %q = %q, presence %v; want %q, %v", tc.key, tc.header, got, presence, tc.want, tc.presence)
		}
	}
}

func TestKeyWithoutTier(t *testing.T) {
	z := compiledZone(t, `{"key": "k", "limit": {"block": true},
		"tier": {"placeholder": "{http.vars.tier}", "tiers": {"pro": {"unlimited": true}}}}`)
	r := requestFrom("192.0.2.1")
	for _, name := range []string{"", "gold"} {
		caddyhttp.SetVar(r.Context(), "tier", name)
		if tier, _ := z.tiers.find(nil, r, nil); tier != noTier {
			t.Errorf("tier %q = %d, want none", name, tier)
		}
	}
	var none *tierFinder
	if tier, presence := none.find(nil, r, nil); tier != noTier || presence != keytemplate.Present {
		t.Errorf("tier without tiers = %d, presence %v; want none, present", tier, presence)
	}
}
