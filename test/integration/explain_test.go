package integration

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// explained is a site with requests, each of which is explained before it is sent.
type explained struct {
	site     string
	requests []string // a method, a path and headers, separated by " | "
}

// explainedSites have everything that decides about requests, in all its forms.
var explainedSites = map[string]explained{
	"zones": {
		site: `
		rate_limit {
			zone user {
				match {
					path /v1/* /zz*
				}
				key {header.X-User}
				limit 2/1h
				tier {header.X-Tier} trusted {
					free 1/1h
					pro 200/1h
					keys vip_* pro
				}
				endpoint POST /v1/search* 3/1h
				endpoint /v1/export {
					cost {header.X-Cost} trusted
				}
				deny_key evil*
				allow_key root
			}
			zone address {
				key {client_ip}
				limit 12/1h
			}
		}
		respond hello`,
		requests: []string{
			"GET /", "GET /v1/a | X-User: alice", "GET /v1/a | X-User: alice", "GET /v1/a | X-User: alice",
			"GET /v1/a | X-User: bob | X-Tier: free", "GET /v1/a | X-User: bob | X-Tier: free", "GET /v1/a | X-User: bob | X-Tier: gold",
			"GET /v1/a | X-User: vip_1 | X-Tier: free", "POST /v1/search | X-User: alice", "GET /v1/export | X-User: carol | X-Cost: 2",
			"GET /v1/export | X-User: carol | X-Cost: 7", "GET /v1/a | X-User: evil1", "GET /v1/a | X-User: root",
			"GET /v1/a", "GET /v1/a | X-User: a | X-User: b", "GET /v1/../a | X-User: alice", "GET / | X_User: alice",
			"GET /v1/a | X-User: dora | X-Forwarded-For: 192.0.2.9", "GET /zz | X-User: é",
		},
	},
	"keys": {
		site: `
		rate_limit {
			allow 192.0.2.1
			deny  192.0.2.2
			zone skipped {
				key {header.X-A}
				on_missing_key skip
				limit 1/1h
			}
			zone denied {
				match {
					header X-B *
				}
				key {header.X-C}
				on_missing_key deny
				limit 1/1h
			}
			zone limited {
				key {header.X-A}
				on_missing_key {client_ip} 2/1h
				limit unlimited
			}
			zone dry {
				key static
				limit 3/1h
				dry_run
			}
		}
		respond hello`,
		requests: []string{
			"GET / | X-Forwarded-For: 192.0.2.1", "GET / | X-Forwarded-For: 192.0.2.2", "GET / | X-A: a", "GET / | X-A: a",
			"GET /", "GET / | X-B: b", "GET / | X-B: b | X-C: c", "GET / | X-B: b | X-C: c", "GET /", "GET / | X-A: d", "GET / | X-A: e",
		},
	},
	"routes": {
		site: `
		@api path /api/*
		handle_path /api/* {
			rate_limit {
				zone api {
					key {header.X-User}
					limit 2/1h
					endpoint /x 1/1h
				}
			}
			respond api
		}
		handle /closed {
			respond 403
		}
		handle {
			rewrite /old /new
			route {
				vars plan {header.X-Plan}
				rate_limit {
					zone rest {
						key {header.X-User}
						tier {http.vars.plan} trusted {
							gold 3/1h
							default gold
						}
						match {
							not path /new
						}
					}
					reject error
				}
			}
			error /broken 500
			respond rest
		}
		handle_errors {
			rate_limit {
				zone errors {
					key static
					limit 3/1h
				}
			}
			respond "error {err.status_code}"
		}`,
		requests: []string{
			"GET /api/x | X-User: alice", "GET /api/x | X-User: alice", "GET /api/y | X-User: alice", "GET /closed", "GET /old | X-User: bob",
			"GET / | X-User: bob | X-Plan: gold", "GET / | X-User: bob", "GET / | X-User: bob", "GET / | X-User: bob", "GET /broken | X-User: carol",
			"GET /broken | X-User: carol",
		},
	},
	"several": {
		site: `
		rate_limit {
			zone same {
				key {header.X-User}
				limit 2/1h
			}
			reject problem
		}
		route {
			rate_limit {
				zone same {
					key {header.X-User}
					limit 2/1h
				}
				zone other {
					key static
					limit 4/1h
				}
			}
			respond hello
		}`,
		requests: slices.Repeat([]string{"GET / | X-User: a", "GET / | X-User: b"}, 3),
	},
	"after the response": {
		site: `
		rate_limit {
			zone login {
				key {header.X-User}
				limit 2/1h
				concurrent 3
				count_status 401
				endpoint /export 1/1h {
					count_status 2xx
				}
			}
			zone dry {
				key static
				limit 3/1h
				concurrent 1
				count_status 401
				dry_run
			}
		}
		route {
			rate_limit {
				zone login {
					key {header.X-User}
					limit 2/1h
					concurrent 3
					count_status 401
					endpoint /export 1/1h {
						count_status 2xx
					}
				}
				zone flights {
					key {header.X-User}
					concurrent 1
					endpoint /export {
						concurrent 2
					}
				}
			}
			respond /wrong no 401
			respond ok
		}`,
		requests: []string{
			"GET / | X-User: a", "GET / | X-User: a", "GET / | X-User: a", "GET /wrong | X-User: a", "GET /wrong | X-User: a",
			"GET /wrong | X-User: a", "GET / | X-User: a", "GET /export | X-User: a", "GET /export | X-User: a", "GET /wrong | X-User: b",
			"GET /wrong | X-User: b", "GET / | X-User: c", "GET /wrong | X-User: c",
		},
	},
}

// TestAdminExplain explains requests and then sends them: what happens to a request is what its explanation
// says.
func TestAdminExplain(t *testing.T) {
	for name, tc := range explainedSites {
		t.Run(name, func(t *testing.T) { explainAndSend(t, serve(t, tc.site), tc.requests) })
	}
	t.Run("Redis", func(t *testing.T) {
		// Events that are given back after a response may still be on their way to Redis.
		redis, zones := redistest.NewServer(t), explainedSites["zones"]
		options := "rate_limit {\nredis {\naddress " + redis.Addr + "\ntimeout 10s\n}\n}"
		explainAndSend(t, serveWith(t, options, zones.site), zones.requests)
	})
	t.Run("outage", func(t *testing.T) {
		options := "rate_limit {\nredis {\naddress " + redistest.FreeAddr() + "\n}\n}"
		for mode, requests := range map[string][]string{"closed": {"GET / | X-User: a"}, "open": {"GET / | X-User: a"}} {
			for _, limits := range []string{"limit 1/1h", "concurrent 1", "limit 1/1h\nconcurrent 1\ncount_status 401"} {
				explainAndSend(t, serveWith(t, options, zoneSite(limits+"\non_outage "+mode)), requests)
			}
		}
	})
}

func explainAndSend(t *testing.T, g *gateway, requests []string) {
	t.Helper()
	followed := g.follow("sample=1", "")
	var wants [][]string // the decisions of each request, which come late
	for i, request := range requests {
		parts := strings.Split(request, " | ")
		method, path, _ := strings.Cut(parts[0], " ")
		x := g.explain(method, path, parts[1:])
		sent := g.request(method, path, parts[1:]...)
		what := fmt.Sprintf("request %d, %s", i, request)
		if status := x.Response.Status; status != sent.status {
			t.Errorf("%s: the status is %d, explained as %d: %+v", what, sent.status, status, x)
		}
		for name, value := range x.Response.Headers {
			if got := sent.header.Get(name); digits.ReplaceAllString(got, "0") != digits.ReplaceAllString(value, "0") {
				t.Errorf("%s: %s is %q, explained as %q", what, name, got, value)
			}
		}
		if body := x.Response.Body; body != "" && digits.ReplaceAllString(body, "0") != digits.ReplaceAllString(sent.body, "0") {
			t.Errorf("%s: the body is %q, explained as %q", what, sent.body, body)
		}
		wants = append(wants, decisionsOf(x))
	}
	for i, want := range wants {
		var got []string
		for range want {
			l := followed.next()
			got = append(got, fmt.Sprintf("%s %s %s %t %s %s %d", l.Zone, l.Outcome, l.Key, l.Missing, l.Endpoint, l.Tier, l.Status))
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("request %d, %s: the decisions are\n%s\nexplained as\n%s", i, requests[i], strings.Join(got, "\n"),
				strings.Join(want, "\n"))
		}
	}
}

// digits matches numbers that change between two requests, such as instants.
var digits = regexp.MustCompile(`[0-9]+`)

// explain explains a request.
func (g *gateway) explain(method, path string, headers []string) (x *api.Explanation) {
	g.t.Helper()
	fields := make(http.Header)
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		fields[name] = append(fields[name], value)
	}
	body, err := json.Marshal(api.ExplainRequest{Method: method, URI: path, Headers: fields, Host: g.addr})
	if err != nil {
		g.t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(g.admin("POST", "/rate_limit/explain", string(body)).is(200).body), &x); err != nil {
		g.t.Fatal(err)
	}
	return x
}

// decisionsOf returns the decisions that followers see of a request that goes as explained.
func decisionsOf(x *api.Explanation) (lines []string) {
	for _, h := range x.Handlers {
		if h.Access != nil {
			lines = append(lines, fmt.Sprintf(" %s  false   %d", h.Outcome, h.Status))
		}
		for _, z := range h.Zones {
			passed := z.Outcome == api.Allowed || z.Outcome == api.WouldDeny
			switch {
			case !z.Applies, len(z.Limits)+len(z.Concurrent) == 0 && !passed && z.Outcome != api.Denied:
				continue
			case h.Outcome != api.Admitted && z.Outcome != h.Outcome && !passed:
				continue
			case len(z.Limits) > 0 && z.Limits[0].Cost == 0: // the request is unlimited, or was charged before
				continue
			}
			endpoint, status := "", h.Status
			if passed || h.Outcome == api.Admitted {
				status = 0
			}
			switch {
			case len(z.Limits) > 0:
				endpoint = z.Limits[0].Rule.Endpoint
			case len(z.Concurrent) > 0:
				endpoint = z.Concurrent[0].Rule.Endpoint
			}
			tier := ""
			if z.Tier != nil {
				tier = z.Tier.Name
			}
			lines = append(lines, fmt.Sprintf("%s %s %s %t %s %s %d", z.Zone, z.Outcome, z.Key, z.Missing, endpoint, tier, status))
			if z.Outcome == api.Denied {
				break // the zones after it are not asked
			}
		}
	}
	slices.Sort(lines)
	return lines
}

// authenticatedSites has handlers that run only for requests of clients.
const authenticatedSites = `
	@a host a.example
	handle @a {
		rate_limit {
			zone early {
				key {http.auth.user.id}
				limit 5/1h
			}
		}
		handle /static/* {
			file_server
		}
		handle {
			forward_auth 127.0.0.1:9 {
				uri /
				copy_headers X-Plan
			}
			rate_limit_authenticated {
				zone user {
					key {http.auth.user.id}
					on_missing_key deny
					limit 5/1h
					tier {header.X-Plan} trusted {
						pro 50/1h
					}
				}
			}
			reverse_proxy 127.0.0.1:9
		}
	}
	handle_errors {
		rate_limit {
			zone errors {
				key static
				limit 5/1h
			}
		}
	}`

// An explanation says what is unknown because a handler does not run in it. --set gives it a value, from the
// first handler on that may provide the value.
func TestAdminExplainWithoutHandlers(t *testing.T) {
	g := serve(t, authenticatedSites)
	explain := func(body string) *reply { t.Helper(); return g.admin("POST", "/rate_limit/explain", body).is(200) }

	explain(`{"host": "a.example", "uri": "/x"}`).says(
		`"zone":"early","applies":true,"outcome":"admitted","key":"127.0.0.1","missing":true`,
		`"of":"key","placeholder":"{http.auth.user.id}","presence":"missing","unknown":true`,
		`"why":"The request has no key","outcome":"denied"`,
		`"missed":[{"place":"Caddyfile:`, `"zones":["errors"],"why":"it is in error routes, and there is no error"}]`,
		`"unknown":["reverse_proxy may answer the request, or change it: it does not run here","{http.auth.user.id} is empty`,
		`"response":{"by":"rate_limit","place":"Caddyfile:`, `"status":403`)
	explain(`{"host": "a.example", "uri": "/x", "set": {"{http.auth.user.id}": "bob", "header.X-Plan": "pro"}}`).says(
		`"zone":"early","applies":true,"outcome":"admitted","key":"127.0.0.1","missing":true`,
		`"zone":"user","applies":true,"outcome":"admitted","key":"bob"`,
		`"tier":{"name":"pro","source":"placeholder","placeholder":"{http.request.header.X-Plan}"}`,
		`"rule":{"tier":"pro","limit":"50/1h"`, `"response":{"by":"reverse_proxy"}`)
	explain(`{"host": "a.example", "uri": "/static/a", "set": {"http.auth.user.id": "bob"}}`).says(
		`"zones":["user"],"why":"file_server answers before it"`, `"{http.auth.user.id} has no value, because`)
	explain(`{"host": "b.example", "from": "192.0.2.1", "method": "POST"}`).says(`"client_ip":"192.0.2.1"`, `"handlers":[]`,
		`"zones":["early"],"why":"its route is for other requests: host [\"a.example\"]"`, `"response":{"status":200}`)
	g.admin("GET", "/rate_limit/zones/early/top", "").is(200).says(`"keys":[]`) // nothing was taken

	for body, want := range map[string]string{
		`{"uri": "x"}`:                           "neither a path nor an address: use one such as /export",
		`{"from": "nobody"}`:                     "from: \\\"nobody\\\" is no address: use one such as 192.0.2.1",
		`{"server": "none"}`:                     "no server with rate_limit gets the request: use one of srv0 (127.0.0.1:",
		`{"uri": "http://a.example:1/"}`:         "no server with rate_limit gets the request",
		`{"set": {"client_ip": "192.0.2.1"}}`:    "is of the request itself: use its uri",
		`{"set": {"user": "bob"}}`:               "is no placeholder: use one such as http.auth.user.id",
		`{"host": "a.example", "method": "a b"}`: "method, host or uri",
		`{"path": "/"}`:                          "unknown",
	} {
		g.admin("POST", "/rate_limit/explain", body).is(400).says(want)
	}
}

func TestExplainCommand(t *testing.T) {
	g, s := serve(t, zoneSite("limit 1/1h")), newShell(t)
	g.awaitAdmin()
	g.get("/", alice).admitted(0)
	for line, want := range map[string]string{
		`caddy rate-limit explain /x -H "X-User: alice"`:                 "response: 429 of rate_limit at Caddyfile:",
		`echo X-User: bob | caddy rate-limit explain /x --header-file -`: "count     1 of 1 left",
		`caddy rate-limit explain delete "/x?y" --from 192.0.2.1`:        "DELETE /x?y to localhost, from 192.0.2.1",
	} {
		if got := s.run(line); !strings.Contains(got, want) {
			t.Errorf("%s prints %s, want %q in it", line, got, want)
		}
	}
	for _, line := range []string{"caddy rate-limit explain / -H X", "caddy rate-limit explain / --set x", "caddy rate-limit explain"} {
		if _, errors, code := s.exec(line); code != 2 {
			t.Errorf("%s: exit code %d: %s", line, code, errors)
		}
	}
}
