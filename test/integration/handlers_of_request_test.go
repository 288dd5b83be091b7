package integration

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// A matcher that fails ends a request before the matcher's handler has decided. What an earlier handler has
// decided stays, and the log and the headers tell nothing else.
func TestFailedMatcherDecidesNothing(t *testing.T) {
	g := serve(t, `
		log
		route {
			rate_limit {
				zone first {
					key all
					limit 10/1h
				}
			}
			rate_limit {
				zone before {
					key all
					limit 5/1h
				}
				zone failing {
					match {
						expression `+"`int({http.request.header.X-Number}) > 1`"+`
					}
					key all
					limit 5/1h
				}
			}
			respond hello
		}`)
	g.get("/", "X-Number: one").is(500)
	const want = "map[decision:admitted key_hash:5ef5ef0364b6 remaining:9 source:store zone:first]"
	redistest.Eventually(t, "the access log", func() bool { return len(g.logged("handled request")) == 1 })
	logged := g.logged("handled request")[0]["rate_limit"].(map[string]any)
	delete(logged, "at") // the instant
	if got := fmt.Sprint(logged); got != want {
		t.Errorf("rate_limit = %s, want %s", got, want)
	}
	if r := g.get("/", "X-Number: 2").is(200); r.limits()["before"].r != 4 {
		t.Errorf("RateLimit = %v, want 4 of the zone before: the failed request was not charged", r.header["Ratelimit"])
	}
}

// A rejected request is charged to no zone. So the error route that it runs through charges it.
func TestErrorRouteChargesRejectedRequest(t *testing.T) {
	const all = "zone all {\nkey all\nlimit 10/1h\n}\n"
	g := serve(t, "rate_limit {\nreject error\n"+all+"zone user {\nkey {header.X-User}\nlimit 1/1h\n}\n}\nrespond hello\n"+
		"handle_errors {\nrate_limit {\n"+all+"}\nrespond error 429\n}")
	g.get("/", alice).admitted(0)
	for _, remaining := range []int64{8, 7} {
		if got := g.get("/", alice).is(429).limits()["all"].r; got != remaining {
			t.Errorf("the zone of the error route has %d left, want %d", got, remaining)
		}
	}
}

// Handlers may define a zone twice in the same way. It is one zone, and a request is charged to each of its
// keys once, at the highest cost.
func TestZoneOfSeveralHandlers(t *testing.T) {
	const users = "rate_limit {\nzone user {\nkey {header.X-User}\nlimit 10/1h\nendpoint /four {\ncost 4\n}\n}\n}\n"
	g := serve(t, "route /four* {\n"+users+"rewrite /four\n"+strings.Repeat(users, 3)+"respond hello\n}\n"+
		"route {\n"+users+"request_header X-User bob\n"+users+"respond hello\n}\n")
	r := g.get("/", alice).admitted(9)
	if got := r.limits()["user"].r; got != 9 {
		t.Errorf("RateLimit has %d left, want 9", got)
	}
	g.get("/", "X-User: bob").admitted(8) // the first request was his, too
	g.get("/four/x", "X-User: carol").admitted(6)
	// Carol's request was charged 1 and then 3. The other passes were not decisions.
	if got := g.metric(`caddy_rate_limit_decisions_total{outcome="admitted",source="store",zone="user"}`); got != 5 {
		t.Errorf("decisions = %v, want 5", got)
	}
}

// Of several zones with as much left, or with as long a wait, the response describes the zone whose name
// comes first.
func TestFirstOfEqualZonesIsDescribed(t *testing.T) {
	g := serve(t, `
		rate_limit {
			zone a10 {
				key all
				limit 10/1h
			}
			zone a20 {
				key all
				limit 20/1h
				cost 2
			}
			zone one {
				match {
					header X-Blocked *
				}
				key all
				limit block
			}
			zone two {
				match {
					header X-Blocked *
				}
				key all
				limit block
			}
		}
		respond hello`)
	g.get("/").admitted(9).has("X-RateLimit-Limit", "10")
	r := g.get("/", "X-Blocked: yes").rejected().has("X-RateLimit-Limit", "0")
	if !strings.Contains(r.body, `"zone":"one"`) || strings.Contains(r.body, `"retry_after_seconds":0`) {
		t.Errorf("body = %s, want zone one and a wait", r.body)
	}
	if reset := r.time("reset_at"); reset.Sub(r.at).Hours() < 23 {
		t.Errorf("a zone that blocks is reset at %v, want a day later", reset)
	}
}

// A zone that blocks has the least left, even if an error route describes other zones.
func TestBlockingZoneHasTheLeastLeft(t *testing.T) {
	g := serve(t, `
		rate_limit {
			reject error
			zone all {
				key all
				limit 10/1h
			}
			zone none {
				key all
				limit block
			}
		}
		handle_errors {
			rate_limit {
				zone errors {
					key all
					limit 10/1h
				}
			}
			respond error 429
		}`)
	g.get("/").is(429).has("X-RateLimit-Limit", "0")
}

// A rule that comes while a request is under way does not apply to the request's later handlers.
func TestRulesOfRequestStay(t *testing.T) {
	g := newGateway(t)
	changed := false
	auth := upstream(t, func(http.ResponseWriter, *http.Request) {
		if !changed {
			changed = true
			g.admin("POST", "/rate_limit/overrides", `{"id": "o", "zone": "second", "key": "alice", "limit": "20/1h"}`).is(201)
		}
	})
	g.mustLoad(g.caddyfile("", "route {\nrate_limit {\nzone first {\nkey all\nlimit 50/1h\n}\n}\nforward_auth "+auth+" {\nuri /\n}\n"+
		"rate_limit {\nzone second {\nkey {header.X-User}\nlimit 9/1h\n}\n}\nrespond hello\n}"))
	g.get("/", alice).admitted(8)
	g.get("/", alice).admitted(18)
}
