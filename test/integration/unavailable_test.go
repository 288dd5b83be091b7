package integration

import (
	"strings"
	"testing"
)

// While Redis does not answer, no body tells how much is left.
func TestRejectionInOutage(t *testing.T) {
	const redis = "rate_limit {\nnodes 1\nredis {\naddress 127.0.0.1:1\n}\n}"
	zone := func(onOutage, reject string) string {
		return "rate_limit {\nreject " + reject + "\nzone all {\nkey all\nlimit 3/80s\ncost 2\non_outage " + onOutage + "\n}\n}\nrespond hello"
	}
	for style, contentType := range map[string]string{"json": "application/json", "problem": "application/problem+json"} {
		t.Run(style, func(t *testing.T) {
			g := serveWith(t, redis, zone("local", style))
			g.get("/").is(200)
			r := g.get("/").rejected().has("Content-Type", contentType)
			if !strings.Contains(r.body, "Rate limit of 3 requests per 80 seconds exceeded: this request counts as 2\"") ||
				!strings.Contains(r.body, `"cost":2`) || strings.Contains(r.body, "remaining") {
				t.Errorf("body = %s, want the cost and nothing about what is left", r.body)
			}
			g = serveWith(t, redis, zone("closed", style))
			g.get("/").is(503).has("Content-Type", contentType)
		})
	}
}
