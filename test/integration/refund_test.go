package integration

import (
	"net/http"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// limitedTwice returns a route with a zone that all requests share. Behind it, after some directives, is a
// zone by user.
func limitedTwice(shared, between, user string) string {
	return "route {\nrate_limit {\nzone shared {\nkey static\n" + shared + "\n}\n}\n" + between +
		"\nrate_limit {\nzone user {\nkey {header.X-User}\n" + user + "\n}\n}\nrespond hello\n}"
}

// A request that a later handler rejects is not charged in the zones of an earlier one, whatever these are.
func TestRejectedRequestIsNotChargedInEarlierHandler(t *testing.T) {
	for name, shared := range map[string]string{
		"token bucket":    "limit 4/24h",
		"fixed window":    "limit 4/24h\nalgorithm fixed_window",
		"sliding log":     "limit 4/24h\nalgorithm sliding_window_log",
		"strict":          "limit 4/24h\nmode strict",
		"may wait":        "limit 4/10m\nwait 1m",
		"some statuses":   "limit 4/24h\ncount_status 2xx 4xx",
		"a later charge":  "limit 4/24h\ncharge {http.response.header.X-Cost} reserve 1",
		"also at once":    "limit 4/24h\nconcurrent 2",
		"several counts":  "limit 4/24h\nendpoint / 4/24h\nendpoint /* 4/24h",
		"compared limits": "limit 4/24h\ncompare {\nlimit 5/24h\n}",
	} {
		for _, store := range []string{"memory", "redis"} {
			t.Run(name+" in "+store, func(t *testing.T) {
				options := ""
				if store == "redis" {
					options = "rate_limit {\nredis {\naddress " + redistest.NewServer(t).Addr + "\n}\n}"
				}
				g := serveWith(t, options, limitedTwice(shared, "header X-Cost 1", "limit 1/24h"))
				g.get("/", "X-User: alice").is(200)
				for range 9 {
					g.get("/", "X-User: alice").is(429)
				}
				for _, user := range []string{"bob", "carol", "dave"} {
					deadline := time.Now().Add(10 * time.Second) // a refund in Redis may still be on its way
					for g.get("/", "X-User: "+user).status != 200 {
						if time.Now().After(deadline) {
							t.Fatalf("%s is rejected: the shared zone has counted rejected requests", user)
						}
					}
				}
				g.get("/", "X-User: erin").is(429).says("shared")
			})
		}
	}
}

// The response to a rejected request tells what remains in earlier handlers after the refund.
func TestRejectionShowsRefund(t *testing.T) {
	g := serve(t, limitedTwice("limit 4/24h", "", "limit 1/24h"))
	g.get("/", "X-User: alice").is(200)
	for range 3 {
		if got := g.get("/", "X-User: alice").is(429).limits(); got["shared"].r != 3 || got["user"].r != 0 {
			t.Errorf("RateLimit = %+v, want shared r=3, user r=0", got)
		}
	}
}

// A request that a later handler refuses for its key is not charged in an earlier handler, either, not even
// in its dry runs.
func TestRefusedRequestIsNotChargedInEarlierHandler(t *testing.T) {
	g := serve(t, limitedTwice("limit 2/24h\ndry_run", "", "limit 5/24h\ndeny_key mallory"))
	for range 5 {
		g.get("/", "X-User: mallory").is(403)
		g.get("/", "X-User: a", "X-User: b").is(400)
	}
	g.get("/", "X-User: alice").is(200)
	g.get("/", "X-User: alice").is(200)
	if n := g.metric(`caddy_rate_limit_would_reject_total{source="store",zone="shared"}`); n != 0 {
		t.Errorf("requests that the dry run would reject = %v, want 0", n)
	}
}

// A request that a later handler rejects counts if an upstream has worked for it before: in error routes, and
// in routes that handle a response. Otherwise a client would have that work for nothing.
func TestRejectionAfterWorkIsCharged(t *testing.T) {
	addr := upstream(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	const (
		shared = "rate_limit {\nzone shared {\nkey static\nlimit 4/24h\n}\n}\n"
		user   = "rate_limit {\nzone user {\nkey {header.X-User}\nlimit 1/24h\n}\n}\nrespond gone 502\n"
	)
	for name, site := range map[string]string{
		"error routes":    "handle /* {\n" + shared + "error 502\n}\nhandle_errors {\n" + user + "}",
		"errors of a set": "route {\n" + shared + "reverse_proxy 127.0.0.1:1\n}\nhandle_errors {\n" + user + "}",
		"response routes": "route {\n" + shared + "reverse_proxy " + addr + " {\nhandle_response {\nroute {\n" + user + "}\n}\n}\n}",
		"intercept":       "route {\n" + shared + "intercept {\nhandle_response {\nroute {\n" + user + "}\n}\n}\nreverse_proxy " + addr + "\n}",
	} {
		t.Run(name, func(t *testing.T) {
			g := serve(t, site)
			for n := range 6 {
				r := g.get("/", "X-User: alice")
				if n >= 4 {
					r.says("shared")
				}
			}
		})
	}
}
