package fleetlimit

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetlimit/fleetlimit/config"
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

func TestTiersThatNoKeyHas(t *testing.T) {
	const free, pro = `"free": {"unlimited": true}`, `"pro": {"unlimited": true}`
	for _, tc := range []struct{ tier, want string }{
		{`"keys": [{"glob": "sk_*", "tier": "free"}, {"glob": "sk_live_*", "tier": "pro"}]`,
			"no key gets pro from sk_live_*, because sk_*, which gives free, matches them all first"},
		{`"keys": [{"glob": "a", "tier": "free"}, {"glob": "a", "tier": "pro"}]`, "because a, which gives free"},
		{`"keys": [{"glob": "sk_.*", "tier": "free"}]`, "is a regular expression"},
		{`"keys": [{"glob": "*", "tier": "free"}], "placeholder": "{http.vars.tier}"`, "use `default free` instead"},
		{`"keys": [{"glob": "*", "tier": "free"}], "default": "pro"`, "no key gets the default"},
		{`"keys": [{"glob": "sk_*", "tier": "free"}]`, "no key has \"pro\": use `keys <glob...> pro`"},
		{`"default": "free"`, "no key has \"pro\""},
		{`"keys": [{"glob": "sk_live_*", "tier": "pro"}, {"glob": "sk_*", "tier": "free"}]`, ""},
		{`"keys": [{"glob": "sk_*", "tier": "pro"}, {"glob": "sk_live_*", "tier": "pro"}, {"glob": "*", "tier": "free"}]`, ""},
		{`"keys": [{"glob": "*", "tier": "free"}, {"glob": "b", "tier": "free"}], "default": "pro"`, "no key gets the default"},
		{`"keys": [{"glob": "sk_*", "tier": "pro"}], "default": "free"`, ""},
		{`"placeholder": "{http.vars.tier}"`, ""},
	} {
		settings := new(config.ZoneTier)
		if err := json.Unmarshal([]byte(`{"tiers": {`+free+`, `+pro+`}, `+tc.tier+`}`), settings); err != nil {
			t.Fatal(err)
		}
		_, err := newTierFinder(settings, nil)
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: error %v, want %q", tc.tier, err, tc.want)
		}
	}
}

func TestTierDoubts(t *testing.T) {
	for tiers, want := range map[string]string{
		`{"free": "1/1m", "Free": "2/1m"}`: `the tiers "Free" and "free" differ only in case`,
		`{"free": "1/1m", "Free": "1/1m"}`: "", // the source spells it both ways
		`{"free": "1/1m", "pro": "1/1m"}`:  "",
	} {
		z := compiledZone(t, `{"key": "{client_ip}", "limit": "10/1m", "tier": {"placeholder": "{http.auth.user.plan}", "tiers": `+
			tiers+`}}`)
		if (len(z.warnings) == 1) != (want != "") || !strings.Contains(fmt.Sprint(z.warnings), want) {
			t.Errorf("%s: warnings %v, want %q", tiers, z.warnings, want)
		}
	}
}

func TestTierWithoutTiers(t *testing.T) {
	if _, err := newTierFinder(&config.ZoneTier{Placeholder: "{http.auth.user.plan}"}, nil); err == nil ||
		!strings.Contains(err.Error(), "there are no tiers: use at least one") {
		t.Errorf("error %v, want one about tiers", err)
	}
}
