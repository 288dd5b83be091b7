package integration

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// With `headers none`, a body tells only what Retry-After tells: neither the zone nor its limit, nor how much
// is left, nor when the limit resets.
func TestBodiesWithoutHeadersHideLimits(t *testing.T) {
	const zones = `
		rate_limit {
			headers none
			reject %s
			zone secret-rate {
				match {
					path /rate
				}
				key all
				limit 77/77m burst 2
				cost 2
			}
			zone secret-block {
				match {
					path /block
				}
				key all
				limit block
			}
			zone secret-concurrent {
				match {
					path /slow
				}
				key all
				concurrent 1
			}
			zone secret-deny {
				match {
					path /deny
				}
				key {query.k}
				limit 77/77m
				deny_key bad
			}
		}
		reverse_proxy %s`
	began, release := make(chan struct{}), make(chan struct{})
	addr := upstream(t, func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			began <- struct{}{}
			<-release
		}
	})
	bodies := map[string]map[string]string{
		"json": {
			"/rate":  `{"error":{"code":"RATE_LIMIT_EXCEEDED","message":"Rate limit exceeded","details":{"retry_after_seconds":%s}}}`,
			"/slow":  `{"error":{"code":"CONCURRENCY_LIMIT_EXCEEDED","message":"Too many concurrent requests","details":{"retry_after_seconds":%s}}}`,
			"/deny":  `{"error":{"code":"FORBIDDEN","message":"The key is denied","details":{"reason":"denied_key"}}}`,
			"outage": `{"error":{"code":"TEMPORARILY_UNAVAILABLE","message":"Requests cannot be counted at the moment","details":{"retry_after_seconds":%s}}}`,
		},
		"problem": {
			"/rate": `{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Too Many Requests","status":429,` +
				`"detail":"Rate limit exceeded","retry_after_seconds":%s}`,
			"/slow": `{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Too Many Requests","status":429,` +
				`"detail":"Too many concurrent requests","retry_after_seconds":%s}`,
			"/deny": `{"type":"about:blank","title":"Forbidden","status":403,"detail":"The key is denied","reason":"denied_key"}`,
			"outage": `{"type":"https://iana.org/assignments/http-problem-types#temporary-reduced-capacity","title":"Service Unavailable",` +
				`"status":503,"detail":"Requests cannot be counted at the moment","retry_after_seconds":%s}`,
		},
	}
	for style, bodies := range bodies {
		t.Run(style, func(t *testing.T) {
			told := func(r *reply, body string) {
				t.Helper()
				for _, name := range []string{"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "RateLimit", "RateLimit-Policy"} {
					r.lacks(name)
				}
				if strings.Contains(body, "%s") {
					body = fmt.Sprintf(body, r.header.Get("Retry-After"))
				}
				if got := strings.TrimSpace(r.body); got != body {
					t.Errorf("body =\n%s, want\n%s", got, body)
				}
			}
			g := serve(t, fmt.Sprintf(zones, style, addr))
			g.get("/rate").is(200)
			told(g.get("/rate").is(429), bodies["/rate"])
			told(g.get("/block").is(429), bodies["/rate"])
			told(g.get("/deny?k=bad").is(403), bodies["/deny"])
			done := make(chan struct{})
			go func() {
				defer close(done)
				g.get("/slow").is(200)
			}()
			<-began
			told(g.get("/slow").is(429), bodies["/slow"])
			release <- struct{}{}
			<-done
			g = serveWith(t, "rate_limit {\nnodes 1\nredis {\naddress 127.0.0.1:1\n}\n}",
				"rate_limit {\nheaders none\nreject "+style+"\nzone secret {\nkey all\nlimit 77/77m\non_outage closed\n}\n}\nrespond hello")
			told(g.get("/").is(503), bodies["outage"])
		})
	}
}
