package integration

import (
	"strings"
	"testing"
)

// strangers is a site whose requests without a key have a limit of their own.
const strangers = `
	rate_limit {
		zone api {
			key {header.X-Api-Key}
			on_missing_key {client_ip} 3/1h
			limit 100/1h
			tier {header.X-Plan} trusted {
				free 50/1h
				pro unlimited
				default free
			}
			endpoint GET /search 90/1h
			endpoint POST /login 1/1h
			endpoint POST /export {
				cost 2
			}
			endpoint /health unlimited
		}
	}
	respond "hello"
`

func TestLimitOfRequestsWithoutKey(t *testing.T) {
	g := serve(t, strangers)
	const alice, address, other = "X-Api-Key: alice", "X-Forwarded-For: 192.0.2.1", "X-Forwarded-For: 192.0.2.2"
	r := g.get("/", address).admitted(2).has("X-RateLimit-Limit", "3")
	if got := r.policies()["api"].q; got != 3 {
		t.Errorf("q of the policy = %d, want 3", got)
	}
	g.get("/search", address).admitted(1) // one count for the whole zone
	g.get("/", address, "X-Plan: pro").admitted(0)
	g.get("/", address).rejected()
	r = g.get("/search", address).rejected()
	if !strings.Contains(r.body, `"limit":3,`) {
		t.Errorf("body = %s, want the limit of requests without a key", r.body)
	}
	g.get("/", address, "X-Plan: pro").rejected()
	for range 5 {
		g.get("/health", address).is(200).lacks("RateLimit")
	}
	g.request("POST", "/login", address).admitted(0) // the endpoint's limit is lower and has its own count
	g.request("POST", "/login", address).rejected()

	g.request("POST", "/export", other).admitted(1)
	g.request("POST", "/export", other).rejected()
	g.get("/", other).admitted(0)

	g.get("/", address, alice).admitted(49)
	g.get("/search", address, alice).admitted(89)
	g.request("POST", "/login", address, alice).admitted(0)
	g.get("/", address, alice, "X-Plan: pro").is(200).lacks("RateLimit")
}

// TestSpellingsOfNoKey sends requests without a key in all the ways in which a client may write that.
func TestSpellingsOfNoKey(t *testing.T) {
	g := serve(t, strangers)
	const address = "X-Forwarded-For: 192.0.2.1"
	g.raw(rawGet("/", address)).admitted(2)
	g.raw(rawGet("/", address, "X-Api-Key:")).admitted(1)
	g.raw(rawGet("/", address, "x-api-key: ")).admitted(0)
	for _, line := range []string{"X-Api-Key:", "X-Api-Key: ", "X-Api-Key:   \t ", "X_Api_Key: alice"} {
		g.raw(rawGet("/", address, line)).rejected()
	}
	g.raw(rawGet("/", address, "X-Api-Key:", "X-Api-Key:")).is(400)
	g.raw(rawGet("/", address, "X-Api-Key: alice")).admitted(49)
}

// TestAmbiguousCookieHasLimitOfNoKey checks that a second cookie does not give a client a higher limit.
func TestAmbiguousCookieHasLimitOfNoKey(t *testing.T) {
	g := serve(t, strings.Replace(strangers, "{header.X-Api-Key}", "{http.request.cookie.sid}", 1))
	const address = "X-Forwarded-For: 192.0.2.1"
	g.raw(rawGet("/", address)).admitted(2)
	g.raw(rawGet("/", address, "Cookie: sid=a; sid=b")).admitted(1)
	g.raw(rawGet("/", address, "Cookie: sid=c; sid=d")).admitted(0)
	g.raw(rawGet("/", address, "Cookie: sid=e; sid=f")).rejected()
	g.raw(rawGet("/", address, "Cookie: sid=a")).admitted(49)
}

func TestSharedLimitOfRequestsWithoutKey(t *testing.T) {
	g := serve(t, `
		rate_limit {
			zone api {
				key {header.X-Api-Key}
				on_missing_key shared 2/1h
				limit unlimited
			}
		}
		respond "hello"
	`)
	g.get("/", "X-Forwarded-For: 192.0.2.1").admitted(1)
	g.get("/", "X-Forwarded-For: 192.0.2.2").admitted(0)
	g.get("/", "X-Forwarded-For: 192.0.2.3").rejected()
	g.get("/", "X-Api-Key: alice").is(200).lacks("RateLimit")
	if n := len(g.logged("without a key")); n != 0 {
		t.Errorf("warnings about missing keys = %d, want none", n)
	}
	if got := g.metric(`caddy_rate_limit_missing_keys_total{zone="api"}`); got != 3 {
		t.Errorf("missing keys = %v, want 3", got)
	}
}
