package integration

import (
	"slices"
	"strings"
	"testing"
)

// legacySite returns a handler with a zone in the syntax of caddy-ratelimit, and more settings.
func legacySite(zone, handler string) string {
	return "rate_limit {\nzone z {\nevents 2\nwindow 1h\n" + zone + "\n}\n" + handler + "\n}\nrespond hello"
}

func TestLegacyZoneIsSlidingWindowLog(t *testing.T) {
	g := serve(t, legacySite("key static", ""))
	r := g.get("/").admitted(1)
	if got, want := r.policies()["z"], (item{q: 2, w: 3600, r: -1, t: -1}); got != want {
		t.Errorf("policy = %+v, want %+v", got, want)
	}
	// The event counts until it is an hour old. A bucket would refill earlier, and a fixed window
	// would end earlier.
	if got := r.limits()["z"].t; got != 3600 {
		t.Errorf("reset after one request = %d s, want 3600", got)
	}
	g.get("/").admitted(0)
	if s := g.get("/").rejected().retryAfter(); s < 3590 || s > 3600 {
		t.Errorf("Retry-After = %d, want 3600: when the oldest event leaves the window", s)
	}
}

// A zone whose definition changes to the new syntax keeps the counts of its keys if its algorithm stays.
func TestLegacyZoneChangesItsSyntax(t *testing.T) {
	const user = "key {header.X-User}\n"
	g := serve(t, legacySite(user, ""))
	g.get("/", "X-User: alice").admitted(1)
	g.get("/").admitted(1)
	site := func(settings string) string {
		return "rate_limit {\nzone z {\n" + user + "limit 2/1h\n" + settings + "\n}\n}\nrespond hello"
	}
	p := g.plan(g.caddyfile("", site("algorithm sliding_window_log")))
	if reset, want := p.Zones[0].Reset, []string{"on_missing_key: an empty text in the key is now {http.vars.client_ip}"}; !slices.Equal(reset, want) {
		t.Errorf("counts that the plan resets: %q, want %q", reset, want)
	}
	g.reload(site("algorithm sliding_window_log"))
	g.get("/", "X-User: alice").admitted(0)
	g.get("/").admitted(1) // requests without the placeholder had one count
	g.reload(site("algorithm sliding_window_log\non_missing_key shared"))
	g.get("/", "X-User: alice").rejected()
	g.reload(site(""))
	g.get("/", "X-User: alice").admitted(1)
}

func TestLegacyZoneWithoutKeyHasOneCount(t *testing.T) {
	g := serve(t, legacySite("", ""))
	g.get("/", "X-Forwarded-For: 192.0.2.1").admitted(1)
	g.get("/", "X-Forwarded-For: 192.0.2.2").admitted(0)
	g.get("/", "X-Forwarded-For: 192.0.2.3").rejected()
}

func TestLegacyEmptyKeysShareCount(t *testing.T) {
	g := serve(t, legacySite("key {header.X-User}", ""))
	g.get("/", "X-Forwarded-For: 192.0.2.1").admitted(1)
	g.get("/", "X-Forwarded-For: 192.0.2.2").admitted(0)
	g.get("/", "X-Forwarded-For: 192.0.2.3").rejected()
	g.get("/", "X-User: alice").admitted(1)
}

func TestLegacyKeyJoinsRepeatedValues(t *testing.T) {
	g := serve(t, legacySite("key {header.X-User}", ""))
	g.get("/", "X-User: alice", "X-User: bob").admitted(1)
	g.get("/", "X-User: alice", "X-User: bob").admitted(0)
	g.get("/", "X-User: alice,bob").rejected()
	g.get("/", "X-User: alice").admitted(1)
}

func TestLegacyAmbiguousKeyIsMissing(t *testing.T) {
	g := serve(t, legacySite("key {header.X-User}\non_missing_key shared", ""))
	g.get("/", "X-User: alice", "X-User: bob").admitted(1)
	g.get("/").admitted(0)
	g.get("/", "X-User: alice", "X-User: alice").rejected()
}

func TestLegacyMaxEventsZeroBlocks(t *testing.T) {
	g := newGateway(t)
	g.mustLoadHandlers(`{"handler":"rate_limit","rate_limits":{"z":{"key":"static","window":"1m","max_events":0}}}`)
	g.get("/").rejected()
	g.get("/").rejected()
	if n := len(g.logged("rate limit exceeded")); n != 2 {
		t.Errorf("logged rejections = %d, want 2", n)
	}
}

func TestLegacyRepeatedNameLastWins(t *testing.T) {
	g := serve(t, `
		rate_limit {
			zone z {
				key static
				events 5
				window 1h
			}
			zone z {
				key static
				events 3
				window 1h
			}
		}
		respond "hello"
	`)
	g.get("/").admitted(2).has("X-RateLimit-Limit", "3")
}

func TestLegacySitesShareCountsByName(t *testing.T) {
	g := newGateway(t)
	other := strings.Replace(legacySite("key static", ""), "events 2", "events 9", 1)
	g.mustLoad(g.caddyfile("", legacySite("key static", ""), other))
	g.get("/").admitted(1)
	g.requestAt(g.second, "GET", "/").admitted(7)
	g.get("/").rejected()
	if warned := g.logged("share their counts"); len(warned) != 1 || warned[0]["level"] != "warn" || warned[0]["zone"] != "z" {
		t.Errorf("warnings about the shared counts = %v, want one that names the zone", warned)
	}
}

func TestLegacyAddresses(t *testing.T) {
	for _, test := range []struct {
		settings, one, other string
		shared               bool
	}{
		{"", "2001:db8::1", "2001:db8::2", false},
		{"ipv6_prefix 0", "2001:db8::1", "2001:db8::2", false},
		{"ipv6_prefix 64", "2001:db8::1", "2001:db8::2", true},
		{"ipv6_prefix 64", "2001:db8:0:1::1", "2001:db8:0:2::1", false},
		{"ipv6_prefix 64", "192.0.2.1", "192.0.2.2", false},
		{"ipv4_prefix 24", "192.0.2.1", "192.0.2.2", true},
		{"ipv4_prefix 24", "2001:db8::1", "2001:db8::2", false},
	} {
		for _, key := range []string{"{client_ip}", "{header.X-Forwarded-For}"} {
			t.Run(key+" "+test.settings+" "+test.other, func(t *testing.T) {
				g := serve(t, legacySite("key "+key+"\n"+test.settings, ""))
				g.get("/", "X-Forwarded-For: "+test.one).admitted(1)
				want := 1
				if test.shared {
					want = 0
				}
				g.get("/", "X-Forwarded-For: "+test.other).admitted(want)
			})
		}
	}
}

func TestLegacyRejectionInvokesErrorRoutes(t *testing.T) {
	g := serve(t, legacySite("key static", ""))
	g.get("/")
	g.get("/")
	if r := g.get("/").rejected(); r.body != "" {
		t.Errorf("body without error routes = %q, want none", r.body)
	}
	g.reload(legacySite("key static", "") + `
		handle_errors 429 {
			respond "slow down: {http.rate_limit.exceeded.name} {err.status_code}"
		}
	`)
	if r := g.get("/").rejected(); r.body != "slow down: z 429" {
		t.Errorf("body = %q, want that of the error route", r.body)
	}
}

func TestLegacyJitterIsFraction(t *testing.T) {
	g := serve(t, legacySite("key static", "jitter 0.2"))
	g.get("/")
	g.get("/")
	longest := int64(0)
	for range 30 {
		s := g.get("/").rejected().retryAfter()
		if s < 3590 || s > 3600*12/10+1 {
			t.Errorf("Retry-After = %d, want 3600 to 4320", s)
		}
		longest = max(longest, s)
	}
	if longest < 3700 {
		t.Errorf("the longest of 30 waits = %d, want above 3700: 0.2 is 20%%, not 0.2%%", longest)
	}
}

func TestLegacyExceededNameIsHighestRate(t *testing.T) {
	zones := `
		rate_limit {
			zone a_slow {
				key static
				events 1
				window 1h
			}
			zone b_fast {
				key static
				events 1
				window 1m
			}
			zone c_free {
				key static
				events 100
				window 1s
			}
		}
		respond "hello"
		handle_errors {
			respond {http.rate_limit.exceeded.name}
		}
	`
	g := serve(t, zones)
	g.get("/").is(200)
	if r := g.get("/").rejected(); r.body != "b_fast" {
		t.Errorf("exceeded zone = %q, want b_fast, the denying zone with the highest rate", r.body)
	}
}

func TestLegacyUnusedSettingsLoadAndWarn(t *testing.T) {
	g := serve(t, legacySite("key static", `
		distributed {
			read_interval 1s
			write_interval 2s
			purge_age 1h
		}
		storage file_system /nonexistent
		sweep_interval 30s
		disable_metrics
		log_key
		jitter 0
	`))
	g.get("/").admitted(1)
	for _, want := range []string{"counts are per node: N nodes admit N times the limit", "`storage`"} {
		if warned := g.logged(want); len(warned) != 1 || warned[0]["level"] != "warn" {
			t.Errorf("warnings with %q = %v, want one", want, warned)
		}
	}
}

func TestLegacyMetrics(t *testing.T) {
	g := serve(t, legacySite("key {client_ip}", ""))
	for range 5 {
		g.get("/")
	}
	for series, want := range map[string]float64{
		`caddy_rate_limit_requests_total{key="",zone="z"}`:          5,
		`caddy_rate_limit_declined_requests_total{key="",zone="z"}`: 3,
		`caddy_rate_limit_keys_total{zone="z"}`:                     1,
	} {
		if got := g.metric(series); got != want {
			t.Errorf("%s = %v, want %v", series, got, want)
		}
	}
}
