package integration

import (
	"fmt"
	"strings"
	"testing"
)

// If servers read the path of a request in several ways, the request is charged at each endpoint that a
// reading matches, to each count once.
func TestReadingsOfPathsAreCharged(t *testing.T) {
	g := serve(t, `
		rate_limit {
			zone user {
				key {header.X-Api-Key}
				limit 1000/1000h
				endpoint POST /login 1000/1000h
				endpoint /public/* 1000/1000h
				endpoint /health unlimited
				endpoint /@scope%2fname 1000/1000h
				endpoint /login.php 1000/1000h
				endpoint /users/*/export {
					cost 10
				}
				endpoint /users/* {
					cost 2
				}
			}
		}
		respond "ok"
	`)
	places := []string{"/", "/login", "/public/x", "/@scope%2fname", "/login.php"}
	for i, tc := range []struct {
		path, charged string // the paths of the counts, each with what it is charged
	}{
		{"/login", "/login 1"},
		{"/login/", "/login 1"},
		{"/LOGIN", "/login 1"},
		{"/login;%2fx", "/ 1, /login 1"}, // a reading is /login/x
		{"/login;x", "/ 1, /login 1"},
		{"/;%2fx/login", "/ 1, /login 1"},
		{"/%6cogin;a%2fb", "/ 1, /login 1"},
		{"//login", "/ 1, /login 1"},
		{"//x/login", "/ 1, /login 1"},
		{"/public/a;b", "/public/x 1"},
		{"/public//a", "/public/x 1"},
		{"//public/login", "/ 1, /login 1, /public/x 1"},
		{"/health;x", "/ 1"}, // an unlimited endpoint does not free the request from other counts
		{"/health", ""},
		{"/@scope%2fname", "/@scope%2fname 1"}, // the pattern says how the path is read
		{"/@scope%2Fname;a", "/ 1, /@scope%2fname 1"},
		{"/other%2fname", "/ 1"},
		{"/users/12", "/ 2"},
		{"/users/12%2fx/export", "/ 10"}, // one count, at the highest cost
		{"/users/1/export;x", "/ 10"},
		{"/users/1/export", "/ 10"},
		{"/login.php/x", "/login.php 1"},
		{"/login.php%2fx", "/ 1, /login.php 1"},
	} {
		key := fmt.Sprintf("X-Api-Key: %d", i)
		r := g.request("POST", tc.path, key).is(200)
		if tc.charged == "" {
			r.lacks("X-RateLimit-Remaining")
		} else {
			least := 1
			if strings.HasSuffix(tc.charged, " 10") {
				least = 10
			} else if strings.HasSuffix(tc.charged, " 2") {
				least = 2
			}
			if r.has("X-RateLimit-Remaining", fmt.Sprint(1000-least)); len(r.limits()) != 1 {
				t.Errorf("%s: RateLimit = %q, want one item for the zone", tc.path, r.header["Ratelimit"])
			}
		}
		var charged []string
		for _, place := range places {
			if n := 999 - g.request("POST", place, key).is(200).number("X-RateLimit-Remaining"); n > 0 {
				charged = append(charged, fmt.Sprintf("%s %d", place, n))
			}
		}
		if got := strings.Join(charged, ", "); got != tc.charged {
			t.Errorf("%s is charged %q, want %q", tc.path, got, tc.charged)
		}
	}
}

// If one of several endpoints is at its limit, the request is rejected, and no other endpoint is charged.
func TestReadingsOfPathsAreAllOrNothing(t *testing.T) {
	g := serve(t, `
		rate_limit {
			zone user {
				key all
				limit 9/1h
				endpoint /a 5/1h
				endpoint /b block
				endpoint /c 2/1h
			}
		}
		respond "ok"
	`)
	g.get("/c;x").admitted(1)
	g.get("/c;x").admitted(0)
	g.get("/c;x").rejected()
	g.get("/c").rejected()
	g.get("/b;x").rejected().has("X-RateLimit-Limit", "0")
	g.get("/").admitted(6)
}

// fiveEndpoints are settings of a zone with more endpoints than one path may be at.
const fiveEndpoints = "limit 5/1h\nendpoint *x/a/b 5/1h\nendpoint *x/a/b;c 5/1h\nendpoint *x/a%2fb 5/1h\n" +
	"endpoint *//x* 5/1h\nendpoint /a/b* 5/1h\nendpoint /a* 5/1h"

func TestPathsWithTooManyEndpoints(t *testing.T) {
	const site = "rate_limit {\nzone user {\nkey all\n%s\n}\n}\nrespond ok\n"
	g := serve(t, fmt.Sprintf(site, fiveEndpoints))
	g.get("//x/a%2fb;c").is(400)
	g.get("/x/a/b").admitted(4)
	g.get("/a").admitted(4)
	g.reload(fmt.Sprintf(site, strings.NewReplacer("endpoint *x/a/b;c 5/1h\n", "", "endpoint *//x* 5/1h\n", "").Replace(fiveEndpoints)))
	g.get("//x/a%2fb;c").admitted(3) // the path is at four endpoints, one of which was used
}

// A zone that tells paths apart refuses a path that only attackers send. Other zones do not.
func TestPathsThatZonesRefuse(t *testing.T) {
	hostile := []string{
		"/public/../login", "/public/%2e%2e/login", "/public/..;/login", "/./login", "/login/.", "/export/..%2fpublic%2f1",
		"/a%5cb", "/a%00", "/a%0d", "/a/%252e%252e/b", "/a%255cb", "/api//../login",
	}
	for name, tc := range map[string]struct {
		zone   string
		status int
	}{
		"endpoint":           {"endpoint /login 5/1h", 400},
		"path matcher":       {"match {\npath /never\n}", 400},
		"not path":           {"match {\nnot path /never\n}", 400},
		"path_regexp":        {"match {\npath_regexp ^/never$\n}", 400},
		"expression":         {"match {\nexpression path('/never')\n}", 400},
		"other matchers":     {"match {\nmethod GET\nnot header X-Never *\n}", 200},
		"no matchers":        {"", 200},
		"dry run":            {"endpoint /login 5/1h\ndry_run", 200},
		"endpoint and match": {"endpoint /login 5/1h\nmatch {\nmethod GET\n}", 400},
	} {
		t.Run(name, func(t *testing.T) {
			g := serve(t, "rate_limit {\nzone user {\nkey all\nlimit 500/1h\n"+tc.zone+"\n}\n}\nrespond ok\n")
			for _, path := range hostile {
				if r := g.raw("GET " + path + " HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"); r.status != tc.status {
					t.Errorf("status of %s = %d, want %d", path, r.status, tc.status)
				} else if tc.status == 400 && !strings.Contains(r.body, `"reason":"ambiguous_path"`) {
					t.Errorf("body of %s = %s, want its reason", path, r.body)
				}
			}
			if tc.status == 400 {
				if n := g.metric(`caddy_rate_limit_ambiguous_total{zone="user"}`); n != float64(len(hostile)) {
					t.Errorf("requests counted as ambiguous = %v, want %d", n, len(hostile))
				}
			}
		})
	}
}

func TestLegacyZoneMatchesPathsAsCaddy(t *testing.T) {
	g := serve(t, "rate_limit {\nzone user {\nmatch {\npath /login\n}\nkey static\nevents 5\nwindow 1h\n}\n}\nrespond ok\n")
	g.get("/a%5cb").is(200) // caddy-ratelimit matches paths as Caddy does
}

// The matchers of a zone see each reading of the path, and later handlers do not.
func TestMatchersSeeReadings(t *testing.T) {
	for _, match := range []string{
		"path /login", "path *login", "path_regexp ^/login$", "expression `path('/login')`", "expression `{path} == \"/login\"`",
		"not {\nnot path /login\n}",
	} {
		t.Run(match, func(t *testing.T) {
			g := serve(t, "rate_limit {\nzone user {\nmatch {\n"+match+"\n}\nkey all\nlimit 4/1h\n}\n}\nrespond \"{path}\"")
			g.get("/login").admitted(3)
			for i, path := range []string{"/login;a", "//x/login"} {
				if r := g.get(path).admitted(2 - i); r.body != path {
					t.Errorf("path of the next handler = %q, want %q", r.body, path)
				}
			}
			g.get("/other;a").is(200).lacks("X-RateLimit-Remaining")
		})
	}
}

func TestMatcherSetsPlaceholdersOfRequest(t *testing.T) {
	g := serve(t, "rate_limit {\nzone user {\nmatch {\npath_regexp p ^/(.*)$\n}\nkey all\nlimit 4/1h\n}\n}\nrespond \"{re.p.1}\"")
	if r := g.get("/a;b"); r.body != "a;b" {
		t.Errorf("what the matcher sets = %q, want that of the path as Caddy reads it", r.body)
	}
}

// Every count must admit the request, so the strictest on_outage of its endpoints decides.
func TestReadingsInOutage(t *testing.T) {
	g := serveWith(t, "rate_limit {\nredis {\naddress 127.0.0.1:1\n}\n}", `
		rate_limit {
			zone user {
				key all
				limit 9/1h
				on_outage open
				endpoint /login 5/1h {
					on_outage closed
				}
			}
		}
		respond "ok"
	`)
	g.get("/other").is(200)
	g.get("/login").is(503)
	g.get("/login;x").is(503)
	g.get("//x/login").is(503)
}

// A dry run decides a request at several endpoints as one request, too.
func TestReadingsInDryRun(t *testing.T) {
	g := serve(t, `
		rate_limit {
			zone user {
				key all
				limit 9/1h
				endpoint /a 1/1h
				endpoint /b block
				dry_run
			}
		}
		respond "ok"
	`)
	for _, path := range []string{"/a;x", "/a;x", "/b;x", "/"} {
		g.get(path).is(200).lacks("X-RateLimit-Limit")
	}
	for outcome, want := range map[string]float64{"admitted": 2, "would_reject": 2} {
		if got := g.metric(`caddy_rate_limit_decisions_total{outcome="` + outcome + `",source="store",zone="user"}`); got != want {
			t.Errorf("requests counted as %s = %v, want %v", outcome, got, want)
		}
	}
}

// Matchers that do not read the path decide about a zone with endpoints, too.
func TestMatcherOfZoneWithEndpoints(t *testing.T) {
	g := serve(t, "rate_limit {\nzone user {\nmatch {\nheader X-Limited *\n}\nkey all\nlimit 4/1h\nendpoint /a 4/1h\n}\n}\nrespond ok")
	g.get("/a").is(200).lacks("X-RateLimit-Limit")
	g.get("/a", "X-Limited: yes").admitted(3)
}

// A path with many readings may be at one endpoint.
func TestReadingsAtOneEndpoint(t *testing.T) {
	g := serve(t, "rate_limit {\nzone user {\nkey all\nlimit 4/1h\nendpoint *b* block\n}\n}\nrespond ok")
	g.get("//secret/a%2fb;c").rejected().has("X-RateLimit-Limit", "0")
}

// Endpoints without a limit of their own share one count. The request is charged the highest of their costs,
// which the rejection names, whichever reading comes first.
func TestReadingsShareTheHighestCost(t *testing.T) {
	for _, tc := range []struct {
		own, shared    string
		cost, ofShared int
	}{
		{"/public/*", "/login", 1, 5},
		{"/login", "/public/*", 1, 5},
		{"/public/*", "/login", 5, 1},
		{"/login", "/public/*", 5, 1},
	} {
		t.Run(fmt.Sprint(tc), func(t *testing.T) {
			g := serve(t, fmt.Sprintf("rate_limit {\nzone user {\nkey all\nlimit 9/1h\ncost %d\nendpoint %s 100/1h\nendpoint %s {\ncost %d\n}\n}\n}\n"+
				"respond ok", tc.cost, tc.own, tc.shared, tc.ofShared))
			g.get("//public/login").admitted(4)
			if r := g.get("//public/login").rejected(); !strings.Contains(r.body, `"cost":5,"remaining":4`) {
				t.Errorf("body = %s, want its cost of 5 and the 4 that remain", r.body)
			}
		})
	}
}
