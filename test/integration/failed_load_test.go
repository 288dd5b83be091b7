package integration

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// failLoads loads a configuration several times, and each load must fail. It repeats the load because Caddy
// starts its apps in any order.
func (g *gateway) failLoads(config string) {
	g.t.Helper()
	for range 5 {
		if err := g.load(config); err == nil {
			g.t.Fatalf("the configuration loads, want an error: %s", config)
		}
	}
}

// TestFailedLoadChangesNoMetric loads configurations whose servers do not start, or whose last zone is wrong.
// After that, metrics, rules and emergency mode must be as before.
func TestFailedLoadChangesNoMetric(t *testing.T) {
	redis := redistest.NewServer(t)
	site := func(zone string) string {
		return "handle /metrics {\nmetrics\n}\nrate_limit {\nzone user {\nmatch {\nnot path /metrics\n}\nkey {header.X-User}\n" +
			zone + "\n}\n}\nrespond hello"
	}
	const running = "limit 50/1h\nadaptive {\nmin 3\nmax 9\n}"
	g := serve(t, site(running))
	g.admin("POST", "/rate_limit/overrides", `{"id": "one", "zone": "user", "key": "bob", "limit": "8/1h"}`).is(201)
	g.admin("POST", "/rate_limit/emergency", `{"limit": "1000/s"}`).is(200)
	g.get("/", "X-User: bob").admitted(7)
	used := upstream(t, func(http.ResponseWriter, *http.Request) {})
	left := 50
	for _, tc := range []struct{ name, options, zone string }{
		{name: "another adaptive", zone: strings.Replace(running, "max 9", "max 7", 1)},
		{name: "no adaptive", zone: "limit 50/1h"},
		{name: "waits", zone: "limit 5/1h\nwait 2s\nconcurrent 3"},
		{name: "counts in a Redis that does not answer", options: "rate_limit {\nredis {\naddress 127.0.0.1:9\n}\n}", zone: running},
		{name: "counts in Redis", options: "rate_limit {\nredis {\naddress " + redis.Addr + "\n}\n}", zone: running + "\non_outage closed"},
		{
			name:    "rules in a PostgreSQL that does not answer",
			options: "rate_limit {\nrules postgres postgres://a:b@127.0.0.1:9/c\ndecisions {\nto postgres\n}\n}", zone: "limit 3/1h",
		},
		{name: "a wrong zone after others", zone: "limit 3/1h\n}\nzone zz {\nkey static\nlimit 0/1h"},
	} {
		left--
		g.get("/", alice).admitted(left)
		before := g.scrapeAt(g.addr)
		config := g.caddyfile(tc.options, site(tc.zone)) + fmt.Sprintf("http://:%s {\nrespond no\n}\n", redistest.Port(used))
		g.failLoads(config)
		after := g.scrapeAt(g.addr)
		for series, was := range before {
			// In emergency mode, the request for the metrics counts, too.
			if is, found := after[series]; (!found || is != was) && !strings.Contains(series, `zone="(emergency)"`) &&
				!strings.Contains(series, "_hottest_key_per_second{") { // this metric falls with time
				t.Errorf("%s: %s = %v, %v, was %v", tc.name, series, is, found, was)
			}
		}
		for series, is := range after {
			if _, found := before[series]; !found && is != 0 {
				t.Errorf("%s: %s = %v is new", tc.name, series, is)
			}
		}
	}
	g.get("/", alice).admitted(left - 1)
	g.get("/", "X-User: bob").admitted(6)
	g.admin("DELETE", "/rate_limit/emergency", "").is(200)
}

// TestFailedLoadKeepsEmergency loads a configuration that has its rules elsewhere, without an emergency, and
// whose servers do not start. The emergency of the rules stays on, with its counts.
func TestFailedLoadKeepsEmergency(t *testing.T) {
	redis := redistest.NewServer(t)
	options := "rate_limit {\nredis {\naddress " + redis.Addr + "\ntimeout 10s\n}\n}"
	g := serve(t, zoneSite("limit 50/1h"))
	g.admin("POST", "/rate_limit/emergency", `{"limit": "5/h", "all_nodes": true}`).is(200)
	for range 3 {
		g.get("/", alice).is(200)
	}
	used := upstream(t, func(http.ResponseWriter, *http.Request) {})
	config := g.caddyfile(options, zoneSite("limit 50/1h")) + fmt.Sprintf("http://:%s {\nrespond no\n}\n", redistest.Port(used))
	g.failLoads(config)
	for _, status := range []int{200, 200, 429} {
		g.get("/", alice).is(status)
	}

	// A load that succeeds ends the emergency, and another one begins it again.
	g.addr = redistest.FreeAddr()
	g.mustLoad(g.caddyfile(options, zoneSite("limit 50/1h")))
	g.get("/", alice).is(200)
	g.admin("GET", "/rate_limit/emergency", "").is(200).says(`"active":false`)
	g.reload(zoneSite("limit 50/1h"))
	g.admin("GET", "/rate_limit/emergency", "").is(200).says(`"limit":"5/1h"`)
	g.admin("DELETE", "/rate_limit/emergency?all_nodes=true", "").is(200)
	g.get("/", alice).is(200)
}
