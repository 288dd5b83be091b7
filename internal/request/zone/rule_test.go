package zone

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/limiter"
)

// compile compiles the zone api of a global option and a directive.
func compile(t *testing.T, option, directive string) *Zone {
	t.Helper()
	h, app := new(config.Handler), new(config.App)
	any := func(string, *config.Zone) error { return nil }
	err := app.ParseCaddyfile(caddyfile.NewTestDispenser(option), any)
	if err == nil {
		err = h.UnmarshalCaddyfile(caddyfile.NewTestDispenser(directive))
	}
	if err != nil {
		t.Fatal(err)
	}
	s := &Set{Defaults: app.DefaultSettings(), SharedTiers: app.Tiers}
	z, err := s.New("api", h.Zones["api"], Options{})
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// TestEnforcementIsInherited sets something at each level and checks all rules.
func TestEnforcementIsInherited(t *testing.T) {
	z := compile(t, `rate_limit {
		tier named 1000/1m {
			mode strict
			on_outage closed
		}
		tier partly 1000/1m {
			mode strict
			on_outage closed
		}
		tier other 1000/1m {
			mode strict
			on_outage closed
		}
		defaults {
			on_outage open
		}
	}`, `rate_limit {
		zone api {
			key k
			limit 10/1m
			mode strict
			tier {http.vars.tier} {
				lax 100/1m {
					mode lease
					on_outage closed
				}
				named
				other 100/1m
				partly {
					mode lease
				}
				zonal 100/1m
			}
			endpoint /set 30/1m {
				mode lease
				on_outage local
				tier {
					named {
						mode strict
					}
					lax 300/1m {
						on_outage open
					}
				}
			}
			endpoint /unset 60/1m
		}
	}`)
	for _, test := range []struct {
		endpoint int
		tier     string
		events   int64
		strict   bool
		onOutage limiter.OutageMode
	}{
		{0, "", 30, false, limiter.OutageLocal},
		{0, "lax", 300, false, limiter.OutageOpen},
		{0, "named", 30, true, limiter.OutageLocal},
		{0, "other", 30, false, limiter.OutageLocal},
		{0, "partly", 30, false, limiter.OutageLocal},
		{0, "zonal", 30, false, limiter.OutageLocal},

		{1, "", 60, true, limiter.OutageOpen},
		{1, "lax", 60, false, limiter.OutageClosed},
		{1, "named", 60, true, limiter.OutageClosed},
		{1, "other", 60, true, limiter.OutageOpen}, // with a limit of its own it is another tier than the app's
		{1, "partly", 60, false, limiter.OutageClosed},
		{1, "zonal", 60, true, limiter.OutageOpen},

		{2, "", 10, true, limiter.OutageOpen},
		{2, "lax", 100, false, limiter.OutageClosed},
		{2, "named", 1000, true, limiter.OutageClosed},
		{2, "other", 100, true, limiter.OutageOpen},
		{2, "partly", 1000, false, limiter.OutageClosed},
		{2, "zonal", 100, true, limiter.OutageOpen},
	} {
		r := z.configured.endpoints[test.endpoint].rules[slices.Index(z.tiers.names, test.tier)]
		if r.Limit.Events != test.events || r.Strict != test.strict || r.OnOutage != test.onOutage {
			t.Errorf("endpoint %d, tier %q: events = %d, strict = %t, on outage = %v; want %d, %t, %v", test.endpoint, test.tier,
				r.Limit.Events, r.Strict, r.OnOutage, test.events, test.strict, test.onOutage)
		}
	}
}

func TestEnforcementDefaults(t *testing.T) {
	for _, zone := range []string{"limit 10/1m", "events 10\nwindow 1m"} {
		z := compile(t, "rate_limit {\ntier free 1/s\n}", "rate_limit {\nzone api {\nkey k\n"+zone+"\n}\n}")
		if r := z.configured.endpoints[0].rules[noTier]; r.Strict || r.OnOutage != limiter.OutageLocal {
			t.Errorf("%q: strict = %t, on outage = %v; want false and local", zone, r.Strict, r.OnOutage)
		}
		z = compile(t, "rate_limit {\ndefaults {\nmode strict\non_outage open\n}\n}", "rate_limit {\nzone api {\nkey k\n"+zone+"\n}\n}")
		if r := z.configured.endpoints[0].rules[noTier]; !r.Strict || r.OnOutage != limiter.OutageOpen {
			t.Errorf("%q with defaults: strict = %t, on outage = %v; want true and open", zone, r.Strict, r.OnOutage)
		}
	}
}

func TestEnforcementDoesNotChangeRuleID(t *testing.T) {
	const option = "rate_limit {\ntier free 1/s\n}"
	a := compile(t, option, "rate_limit {\nzone api {\nkey k\nlimit 10/1m\n}\n}")
	b := compile(t, option, "rate_limit {\nzone api {\nkey k\nlimit 10/1m\nmode strict\non_outage open\n}\n}")
	if x, y := a.configured.endpoints[0].rules[noTier].ID, b.configured.endpoints[0].rules[noTier].ID; x != y {
		t.Errorf("IDs of the rules = %d and %d, want the same", x, y)
	}
}

func TestZoneWarnsAboutDoubtfulEndpoints(t *testing.T) {
	z := compiledZone(t, `{"key": "k", "limit": {"block": true}, "endpoints": [
		{"methods": ["GET", "FROBNICATE"], "path": "/a", "cost": 2}, {"path": "/.*", "cost": 2}, {"path": "/b", "cost": 2}]}`)
	if len(z.Warnings) != 2 || !strings.Contains(z.Warnings[0].Error(), "FROBNICATE is no method") ||
		!strings.Contains(z.Warnings[1].Error(), "use * for all paths") {
		t.Errorf("warnings = %v, want one about FROBNICATE and one about /.*", z.Warnings)
	}
}

func TestEndpointForEveryRequest(t *testing.T) {
	for endpoint, want := range map[string]string{
		`{"path": "/*", "limit": "5/1m"}`:                      "the limit of the zone is not used",
		`{"path": "*", "limit": "5/1m"}`:                       "or a narrower path",
		`{"path": "/*", "limit": "5/1m", "methods": ["POST"]}`: "",
		`{"path": "/a*", "limit": "5/1m"}`:                     "",
		`{"path": "/*", "cost": 2}`:                            "",
	} {
		z := compiledZone(t, `{"key": "{client_ip}", "limit": "10/1m", "endpoints": [`+endpoint+`]}`)
		if (len(z.Warnings) == 1) != (want != "") || !strings.Contains(fmt.Sprint(z.Warnings), want) {
			t.Errorf("%s: warnings %v, want %q", endpoint, z.Warnings, want)
		}
	}
}

// TestOneSubwindowIsDefault checks that `sliding_window` and `sliding_window 1` are one rule.
func TestOneSubwindowIsDefault(t *testing.T) {
	const plain = `{"key": "k", "limit": {"events": 5, "window": "1m"}, "algorithm": {"name": "sliding_window"}}`
	const one = `{"key": "k", "limit": {"events": 5, "window": "1m"}, "algorithm": {"name": "sliding_window", "subwindows": 1}}`
	const two = `{"key": "k", "limit": {"events": 5, "window": "1m"}, "algorithm": {"name": "sliding_window", "subwindows": 2}}`
	id := func(config string) uint32 { return compiledZone(t, config).configured.endpoints[0].rules[noTier].ID }
	if id(plain) != id(one) || id(plain) == id(two) {
		t.Errorf("rules of no, 1 and 2 sub-windows: %d, %d and %d; want the first two equal", id(plain), id(one), id(two))
	}
}
