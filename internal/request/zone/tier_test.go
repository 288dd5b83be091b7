package zone

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/internal/key/keytemplate"
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
		unknown  string
	}{
		{"sk_ent_1", []string{"free"}, "enterprise", keytemplate.Present, ""},
		{"sk_1", []string{"Free"}, "pro", keytemplate.Present, ""}, // it is not read
		{"pk_1", []string{"pro"}, "pro", keytemplate.Present, ""},
		{"pk_1", []string{"gold"}, "free", keytemplate.Present, "gold"},
		{"pk_1", []string{"Pro"}, "free", keytemplate.Present, "Pro"},
		{"pk_1", nil, "free", keytemplate.Missing, ""},
		{"pk_1", []string{"pro", "free"}, "free", keytemplate.Ambiguous, ""},
	} {
		r := requestFrom("192.0.2.1")
		r.Header["X-Tier"] = tc.header
		repl := r.Context().Value(caddy.ReplacerCtxKey).(*caddy.Replacer)
		found := z.tiers.find(func() string { return tc.key }, r, repl)
		if got := z.tiers.name(found.tier); got != tc.want || found.presence != tc.presence || found.unknown != tc.unknown {
			t.Errorf("tier of %s with %q = %q, presence %v, unknown %q; want %q, %v, %q", tc.key, tc.header, got,
				found.presence, found.unknown, tc.want, tc.presence, tc.unknown)
		}
	}
}

func TestKeyWithoutTier(t *testing.T) {
	z := compiledZone(t, `{"key": "k", "limit": {"block": true},
		"tier": {"placeholder": "{http.vars.tier}", "tiers": {"pro": {"unlimited": true}}}}`)
	r := requestFrom("192.0.2.1")
	for _, name := range []string{"", "gold"} {
		caddyhttp.SetVar(r.Context(), "tier", name)
		if found := z.tiers.find(nil, r, nil); found.tier != noTier || found.unknown != name {
			t.Errorf("tier %q = %d, unknown %q; want none, %q", name, found.tier, found.unknown, name)
		}
	}
	var none *tierFinder
	if found := none.find(nil, r, nil); found != (foundTier{}) {
		t.Errorf("tier without tiers = %v, want none, present", found)
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

func TestTierWarnings(t *testing.T) {
	const unreachable = "no request can reach the limit of the zone"
	for _, tc := range []struct{ zone, want string }{
		{`"limit": "10/1m", "tier": {"placeholder": "{http.auth.user.plan}", "tiers": {"free": "1/1m"}}`, ""},
		{`"limit": "10/1m", "tier": {"placeholder": "{http.auth.user.plan}", "tiers": {"free": "1/1m"}, "default": "free"}`, unreachable},
		{`"limit": "10/1m", "tier": {"tiers": {"free": "1/1m"}, "keys": [{"glob": "*", "tier": "free"}]}`, unreachable},
		{`"tier": {"placeholder": "{http.auth.user.plan}", "tiers": {"free": "1/1m"}, "default": "free"}`, ""},
	} {
		z := compiledZone(t, `{"key": "{client_ip}", `+tc.zone+`}`)
		if (len(z.Warnings) == 1) != (tc.want != "") || !strings.Contains(fmt.Sprint(z.Warnings), tc.want) {
			t.Errorf("%s: warnings %v, want %q", tc.zone, z.Warnings, tc.want)
		}
	}
}

func TestTiersThatDifferOnlyInCase(t *testing.T) {
	const want = `the tiers "Free" and "free" differ only in case`
	_, err := newTierFinder(&config.ZoneTier{
		Placeholder: "{http.auth.user.plan}", Tiers: map[string]*config.Tier{
			"free": {Limit: config.Limit{Unlimited: true}}, "Free": {Limit: config.Limit{Unlimited: true}},
		},
	}, nil)
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("in a zone: error %v, want %q", err, want)
	}
	app := config.App{Tiers: map[string]*config.Tier{
		"free": {Limit: config.Limit{Unlimited: true}}, "Free": {Limit: config.Limit{Unlimited: true}},
	}}
	if err := app.Check(); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("in the app: error %v, want %q", err, want)
	}
}

func TestTierWithoutTiers(t *testing.T) {
	if _, err := newTierFinder(&config.ZoneTier{Placeholder: "{http.auth.user.plan}"}, nil); err == nil ||
		!strings.Contains(err.Error(), "there are no tiers: use at least one") {
		t.Errorf("error %v, want one about tiers", err)
	}
}
