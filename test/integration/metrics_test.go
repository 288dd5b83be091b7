package integration

import (
	"strings"
	"testing"
)

// observed has a zone for each metric.
const observed = `
	rate_limit {
		zone user {
			key {header.X-User}
			limit 2/1h
			cost {header.X-Cost} trusted
			allow_key vip_*
			deny_key bad_*
			max_keys 8
		}
		allow 192.0.2.1
		deny 192.0.2.2
	}
	respond "hello"
`

func TestMetricsCount(t *testing.T) {
	g := serve(t, observed)
	size := 0
	for name, value := range g.scrape() {
		if strings.Contains(name, `zone="user"`) {
			size += len(name) + len(" 0\n")
			if value != 0 && !strings.HasPrefix(name, "caddy_rate_limit_limit_") {
				t.Errorf("%s before the first request = %v, want 0", name, value)
			}
		}
	}
	if size > 1000 {
		t.Errorf("the metrics of a zone before the first request have %d bytes, want at most 1000", size)
	}
	before := g.scrape()
	for range 5 {
		g.get("/", "X-User: alice", "X-Cost: 1")
	}
	g.get("/", "X-User: bob", "X-Cost: none").is(200)
	g.get("/", "X-Cost: 1").is(200)
	g.get("/", "X-User: vip_1").is(200)
	g.get("/", "X-User: vip_2").is(200)
	g.get("/", "X-User: bad_1").is(403)
	g.get("/", "X-Forwarded-For: 192.0.2.1").is(200)
	g.get("/", "X-Forwarded-For: 192.0.2.2").is(403)
	g.get("/", "X-Forwarded-For: 192.0.2.2").is(403)

	after := g.scrape()
	for name, want := range map[string]float64{
		`caddy_rate_limit_decisions_total{endpoint="",outcome="admitted",source="store",tier="",zone="user"}`: 4,
		`caddy_rate_limit_decisions_total{endpoint="",outcome="rejected",source="store",tier="",zone="user"}`: 3,
		`caddy_rate_limit_decisions_total{endpoint="",outcome="allowed",source="",tier="",zone="user"}`:       2,
		`caddy_rate_limit_decisions_total{endpoint="",outcome="denied",source="",tier="",zone="user"}`:        1,
		`caddy_rate_limit_requests_total{key="",zone="user"}`:                                                 7,
		`caddy_rate_limit_declined_requests_total{key="",zone="user"}`:                                        3,
		`caddy_rate_limit_keys_total{zone="user"}`:                                                            3,
		`caddy_rate_limit_missing_keys_total{zone="user"}`:                                                    1,
		`caddy_rate_limit_invalid_costs_total{zone="user"}`:                                                   1,
		`caddy_rate_limit_evictions_total{zone="user"}`:                                                       0,
		`caddy_rate_limit_address_decisions_total{outcome="allowed"}`:                                         1,
		`caddy_rate_limit_address_decisions_total{outcome="denied"}`:                                          2,
	} {
		got, found := after[name]
		if !found || got-before[name] != want {
			t.Errorf("%s rose by %v (there: %v), want %v", name, got-before[name], found, want)
		}
	}
}

func TestFloodOfKeysStaysWithinMaxKeys(t *testing.T) {
	g := serve(t, observed)
	g.get("/", "X-User: alice", "X-Cost: 2").admitted(0)
	g.get("/", "X-User: alice").rejected()
	for i := range 200 {
		g.get("/", "X-User: flood"+strings.Repeat("x", i)).is(200)
	}
	g.get("/", "X-User: alice").rejected() // new keys do not evict keys at their limit
	series := g.scrape()
	if keys := series[`caddy_rate_limit_keys_total{zone="user"}`]; keys < 1 || keys > 8 {
		t.Errorf("keys of the zone = %v, want 1 to its max_keys, 8", keys)
	}
	if n := series[`caddy_rate_limit_evictions_total{zone="user"}`]; n < 190 {
		t.Errorf("evicted keys = %v, want nearly all of 200", n)
	}
}

// A full zone is warned about once a minute, with the remedy.
func TestFullZoneWarning(t *testing.T) {
	g := serve(t, `rate_limit {
		zone full {
			key      {http.request.header.X-Api-Key}
			limit    1/1h
			max_keys 1
		}
	}
	respond "hello"`)
	for _, key := range []string{"a", "b", "c", "d"} {
		g.get("/", "X-Api-Key: "+key)
	}
	entries := g.logged("use a larger max_keys")
	if len(entries) != 1 || entries[0]["level"] != "warn" || entries[0]["zone"] != "full" {
		t.Errorf("logged = %v, want one warning with the zone", entries)
	}
}

func TestClientsWriteNoLabels(t *testing.T) {
	g := serve(t, observed)
	count := func() int { return strings.Count(g.adminMetrics(), "\ncaddy_rate_limit_") }
	send := func(clients ...string) {
		for _, client := range clients {
			g.get("/secret-path", "X-User: "+client, "X-Cost: secret", "Host: secret.example", "X-Forwarded-For: 198.51.100.77")
		}
	}
	send("first", "vip_first", "bad_first") // some series begin with their first event
	before := count()
	send("secret1", "secret2", "vip_secret", "bad_secret")
	for line := range strings.Lines(g.adminMetrics()) {
		if strings.HasPrefix(line, "caddy_rate_limit_") && (strings.Contains(line, "secret") || strings.Contains(line, "198.51")) {
			t.Errorf("a client has written a label: %s", line)
		}
	}
	if after := count(); after != before {
		t.Errorf("series = %d after the requests, want %d as before", after, before)
	}
}

func TestDisabledMetrics(t *testing.T) {
	g := serve(t, strings.Replace(observed, "rate_limit {", "rate_limit {\ndisable_metrics", 1))
	g.get("/")
	if got := g.scrape(); len(got) != 0 {
		t.Errorf("metrics with disable_metrics = %v, want none", got)
	}
}
