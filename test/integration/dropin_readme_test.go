package integration

import (
	"strings"
	"testing"

	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// onOurPort returns an example with its port replaced by the gateway's.
func (g *gateway) onOurPort(example string) string {
	return strings.Replace(example, ":80", ":"+redistest.Port(g.addr), 1)
}

// mustLoadHandlers loads a JSON configuration of one server with these handlers, followed by a handler that
// responds hello.
func (g *gateway) mustLoadHandlers(handlers string) {
	g.t.Helper()
	g.mustLoadApps(g.onOurPort(`{"http":{"servers":{"demo":{"listen":[":80"],"automatic_https":{"disable":true},"routes":[{"handle":[` +
		handlers + `,{"handler":"static_response","body":"hello"}]}]}}}}`))
}

// mustLoadApps loads a JSON configuration with these apps.
func (g *gateway) mustLoadApps(apps string) {
	g.t.Helper()
	config := `{"admin":{"listen":"` + adminAddr + `","config":{"persist":false}},"logging":{"logs":{"default":{"writer":` +
		`{"output":"file","filename":"` + g.logFile + `","roll":false},"encoder":{"format":"json"}}}},"apps":` + apps + `}`
	if err := g.loadJSON(config); err != nil {
		g.t.Fatalf("loading the configuration: %v\n%s", err, config)
	}
}

// behavesAsInReadme checks the two zones of caddy-ratelimit's example: two requests per client in
// five seconds.
func (g *gateway) behavesAsInReadme() {
	g.t.Helper()
	const body = "I'm behind the rate limiter!"
	for range 2 {
		if r := g.request("POST", "/").is(200); r.body != body || len(r.limits()) != 1 {
			g.t.Errorf("POST: body %q, RateLimit %v; want %q and only the dynamic zone", r.body, r.limits(), body)
		}
	}
	r := g.get("/").rejected()
	if s := r.retryAfter(); s < 1 || s > 5 {
		g.t.Errorf("Retry-After = %d, want 1 to 5", s)
	}
	if got := r.limits(); len(got) != 2 || got["static_example"].r != 100 {
		g.t.Errorf("RateLimit = %v, want both zones, and the static one untouched", got)
	}
	if logged := g.logged("rate limit exceeded"); len(logged) != 1 || logged[0]["zone"] != "dynamic_example" ||
		logged[0]["remote_ip"] != "127.0.0.1" || logged[0]["key"] != "127.0.0.1" {
		g.t.Errorf("logged = %v, want the rejection with zone, remote_ip and key", logged)
	}
	if warned := g.logged("counts are per node"); len(warned) != 1 {
		g.t.Errorf("warnings about distributed = %v, want one", warned)
	}
}

func TestReadmeExampleInJSON(t *testing.T) {
	g := newGateway(t)
	g.mustLoadApps(g.onOurPort(`{
		"http": {
			"servers": {
				"demo": {
					"listen": [":80"],
					"routes": [
						{
							"handle": [
								{
									"handler": "rate_limit",
									"rate_limits": {
										"static_example": {
											"match": [
												{"method": ["GET"]}
											],
											"key": "static",
											"window": "1m",
											"max_events": 100
										},
										"dynamic_example": {
											"key": "{http.request.remote.host}",
											"window": "5s",
											"max_events": 2
										}
									},
									"distributed": {},
									"log_key": true
								},
								{
									"handler": "static_response",
									"body": "I'm behind the rate limiter!"
								}
							]
						}
					]
				}
			}
		}
	}`))
	g.behavesAsInReadme()
}

func TestReadmeExampleInCaddyfile(t *testing.T) {
	g := newGateway(t)
	g.mustLoad(g.caddyfile("") + g.onOurPort(`
:80

rate_limit {
	distributed
	zone static_example {
		match {
			method GET
		}
		key    static
		events 100
		window 1m
	}
	zone dynamic_example {
		key    {remote_host}
		events 2
		window 5s
	}
	log_key
}

respond "I'm behind the rate limiter!"
`))
	g.behavesAsInReadme()
}

func TestReadmeNetworkPrefix(t *testing.T) {
	g := newGateway(t)
	g.mustLoadHandlers(`{
		"handler": "rate_limit",
		"rate_limits": {
			"per_network": {
				"key": "{http.request.remote.host}",
				"window": "1m",
				"max_events": 100,
				"ipv6_prefix": 64
			}
		}
	}`)
	g.get("/").admitted(99)
	g.reload(`
		rate_limit {
			zone per_network {
				key         {remote_host}
				events      100
				window      1m
				ipv6_prefix 64
			}
		}
		respond "hello"
	`)
	g.get("/").admitted(98) // the same zone in our syntax
}

func TestReadmeOrder(t *testing.T) {
	const zone = "rate_limit {\nzone z {\nkey {http.auth.user.id}\nevents 2\nwindow 1h\n}\n}\n"
	const auth = "basic_auth {\nalice $2a$04$BMCvYZqo0UMIPNQJG9Gk6e5l1Ddgy5hVaoXOXg4EJXnlhVfPq0z0q\n}\nrespond hello\n"
	g := serveWith(t, "order rate_limit after basic_auth", zone+auth)
	for range 5 {
		g.get("/").is(401).lacks("X-RateLimit-Limit")
	}
	g.reload(zone + auth)
	g.get("/").is(401).has("X-RateLimit-Remaining", "1") // the default order is before basic_auth
	g.reload("route {\nrespond /ping pong\n" + zone + "respond hello\n}")
	for range 3 {
		g.get("/ping").is(200).lacks("X-RateLimit-Limit")
	}
	g.get("/").admitted(0)
}
