package integration

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// TestFailedLoadChangesNoMetric loads configurations whose servers do not start, or whose last zone is
// wrong. Nothing that the metrics, the rules and emergency mode have may be another afterwards.
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
		if err := g.load(config); err == nil {
			t.Fatalf("%s: the configuration loads, want an error", tc.name)
		}
		after := g.scrapeAt(g.addr)
		for series, was := range before {
			// In emergency mode, the request for the metrics counts too.
			if is, found := after[series]; (!found || is != was) && !strings.Contains(series, `zone="(emergency)"`) {
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
