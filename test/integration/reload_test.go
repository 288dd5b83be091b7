package integration

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// zoneSite returns a site with a zone of these settings.
func zoneSite(zone string) string {
	return "rate_limit {\nzone user {\nkey {header.X-User}\n" + zone + "\n}\n}\nrespond hello"
}

const alice = "X-User: alice"

func TestReloadKeepsCounts(t *testing.T) {
	for _, algorithm := range []string{"token_bucket", "sliding_window_log", "sliding_window", "sliding_window 6", "fixed_window"} {
		t.Run(algorithm, func(t *testing.T) {
			site := func(limit string) string { return zoneSite("limit " + limit + "\nalgorithm " + algorithm) }
			g := serve(t, site("10/8760h"))
			for left := 9; left >= 6; left-- {
				g.get("/", alice).admitted(left)
			}
			g.reload(site("10/8760h"))
			g.get("/", alice).admitted(5)

			// Consumption survives, and a new limit applies at once.
			g.reload(site("20/8760h"))
			g.get("/", alice).admitted(14).has("X-RateLimit-Limit", "20")
			g.reload(site("7/8760h"))
			g.get("/", alice).admitted(0).has("X-RateLimit-Limit", "7")
			g.reload(site("3/8760h"))
			g.get("/", alice).rejected().has("X-RateLimit-Limit", "3").has("X-RateLimit-Remaining", "0")
			g.reload(site("10/8760h"))
			g.get("/", alice).admitted(2)
			g.get("/", "X-User: bob").admitted(9)
		})
	}
}

func TestReloadKeepsCountsOfOtherWindow(t *testing.T) {
	for _, algorithm := range []string{"token_bucket", "sliding_window_log"} {
		t.Run(algorithm, func(t *testing.T) {
			g := serve(t, zoneSite("limit 10/1h\nalgorithm "+algorithm))
			g.get("/", alice).admitted(9)
			g.get("/", alice).admitted(8)
			g.reload(zoneSite("limit 10/2h\nalgorithm " + algorithm))
			g.get("/", alice).admitted(7)
		})
	}
}

func TestReloadThatResetsCounts(t *testing.T) {
	fixed, windows := zoneSite("limit 5/1h\nalgorithm fixed_window"), zoneSite("limit 5/1h\nalgorithm sliding_window 7")
	bucket := zoneSite("limit 5/1h")
	for name, sites := range map[string][]string{
		"another algorithm":    {bucket, fixed},
		"another sub-window":   {windows, strings.Replace(windows, "window 7", "window 8", 1)},
		"another key template": {bucket, strings.Replace(bucket, "{header.X-User}", "user-{header.X-User}", 1)},
		"removed, and added":   {bucket, strings.Replace(bucket, "zone user", "zone another", 1), bucket},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGateway(t)
			for _, site := range sites {
				g.reload(site)
				g.get("/", alice).admitted(4)
			}
		})
	}
}

func TestReloadAddsZones(t *testing.T) {
	g := serve(t, zoneSite("limit 5/1h"))
	g.get("/", alice).admitted(4)
	g.reload(zoneSite("limit 5/1h\n}\nzone all {\nkey all\nlimit 100/1h"))
	r := g.get("/", alice).admitted(3)
	if got := r.limits(); got["user"].r != 3 || got["all"].r != 99 {
		t.Errorf("RateLimit = %+v, want user r=3 and all r=99", got)
	}
	g.reload(zoneSite("limit 5/1h"))
	g.get("/", alice).admitted(2)
}

func TestReloadKeepsEndpointsByPath(t *testing.T) {
	const a, b, c = "endpoint /a 5/1h\n", "endpoint GET /b 6/1h\n", "endpoint POST /b 7/1h\n"
	g := serve(t, zoneSite("limit 9/1h\n"+a+b+c))
	visit := func(used int) {
		t.Helper()
		g.get("/a", alice).admitted(5 - used)
		g.get("/b", alice).admitted(6 - used)
		g.request("POST", "/b", alice).admitted(7 - used)
		g.get("/", alice).admitted(9 - used)
	}
	visit(1)
	g.reload(zoneSite("limit 9/1h\n" + c + b + a))
	visit(2)
	g.reload(zoneSite("endpoint /new 8/1h\n" + b + a + c + "limit 9/1h"))
	visit(3)
	g.get("/new", alice).admitted(7)
}

func TestReloadKeepsCountsOfOtherTier(t *testing.T) {
	g := serve(t, zoneSite("limit 5/1h"))
	g.get("/", alice).admitted(4)
	g.reload(zoneSite("limit 5/1h\ntier {header.X-Plan} trusted {\npro 50/1h\n}"))
	g.get("/", alice, "X-Plan: pro").admitted(48)
	g.get("/", alice).admitted(2)
}

func TestFailedReloadChangesNothing(t *testing.T) {
	g := serve(t, "handle /metrics {\nmetrics\n}\n"+zoneSite("match {\nnot path /metrics\n}\nlimit 50/1h"))
	listen := `"` + g.addr + `"`
	blocked := listen + `,"` + upstream(t, func(http.ResponseWriter, *http.Request) {}) + `"`
	good := g.runningConfig()
	change := func(old, replacement string) string {
		if !strings.Contains(good, old) {
			t.Fatalf("the configuration has no %s: %s", old, good)
		}
		return strings.Replace(good, old, replacement, 1)
	}
	const otherZone = `"rate_limits":{"another":{"key":"k","limit":{"events":1,"window":"1h"}},`
	const renamed = `"rate_limits":{"another":`
	failures := map[string]string{
		"parse":                           good[:len(good)-5],
		"unknown field":                   change(`"rate_limits":`, `"rate_limitz":`),
		"provision of the zone":           change(`"limit":"50/1h"`, `"limit":{"events":-1,"window":"1h"}`),
		"provision of an earlier zone":    change(`"rate_limits":{`, `"rate_limits":{"a_bad":{"key":"k"},`),
		"provision of a later zone":       change(`"rate_limits":{`, `"rate_limits":{"z_bad":{"key":"k"},`),
		"provision of another handler":    change(`"handler":"static_response"`, `"handler":"no_such_handler"`),
		"start":                           change(listen, blocked),
		"start with another limit":        strings.Replace(change(listen, blocked), `"limit":"50/1h"`, `"limit":"3/1h"`, 1),
		"start with another zone":         strings.Replace(change(listen, blocked), `"rate_limits":{`, otherZone, 1),
		"start without the zone":          strings.Replace(change(listen, blocked), `"rate_limits":{"user":`, renamed, 1),
		"provision with the zone renamed": strings.Replace(change(`"limit":"50/1h"`, `"limit":{"events":-1,"window":"1h"}`), `"rate_limits":{"user":`, renamed, 1),
	}
	left := 50
	for name, config := range failures {
		left--
		g.get("/", alice).admitted(left)
		if err := g.loadJSON(config); err == nil {
			t.Fatalf("%s: the configuration loaded, want an error: %s", name, config)
		}
		left--
		g.get("/", alice).admitted(left).has("X-RateLimit-Limit", "50")
		// The admin API cannot be asked: Caddy has replaced it by the admin API of the configuration that
		// failed.
		series := g.scrapeAt(g.addr)
		if n := series[`caddy_rate_limit_requests_total{key="",zone="user"}`]; n != float64(50-left) {
			t.Errorf("%s: requests decided by the zone = %v, want %d", name, n, 50-left)
		}
		for _, zone := range []string{"another", "a_bad", "z_bad"} {
			if keys, found := series[`caddy_rate_limit_keys_total{zone="`+zone+`"}`]; found {
				t.Errorf("%s: a zone of the configuration that failed has %v keys", name, keys)
			}
		}
	}
	if err := g.loadJSON(good); err != nil { // the next configuration finds the counts
		t.Fatal(err)
	}
	g.get("/", alice).admitted(left - 1)
}

// runningConfig returns the configuration that Caddy runs.
func (g *gateway) runningConfig() string {
	g.t.Helper()
	resp, err := g.client.Get("http://" + adminAddr + "/config/")
	if err != nil {
		g.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	config, err := io.ReadAll(resp.Body)
	if err != nil {
		g.t.Fatal(err)
	}
	return strings.TrimSpace(string(config))
}

func TestMetricsSurviveReloads(t *testing.T) {
	site := zoneSite("limit 3/1h")
	g := serve(t, site)
	for n := 1; n <= 6; n++ {
		g.get("/", alice)
		g.reload(strings.Replace(site, "hello", fmt.Sprint("hello", n), 1))
		if got := g.metric(`caddy_rate_limit_requests_total{key="",zone="user"}`); got != float64(n) {
			t.Errorf("counter after %d requests and reloads = %v", n, got)
		}
	}
	if got := g.metric(`caddy_rate_limit_decisions_total{outcome="rejected",source="store",zone="user"}`); got != 3 {
		t.Errorf("rejections = %v, want 3", got)
	}
}
