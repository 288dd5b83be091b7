package integration

import (
	"testing"

	"github.com/fleetlimit/fleetlimit/test/redistest"
)

const (
	raiseAlice = `{"zone": "user", "key": "alice", "limit": "5/1h"}`
	resetAlice = `{"key": "alice"}`
	addToAlice = `{"key": "alice", "events": 5}`
)

// While the Redis of counts and rules is gone, no change is acknowledged. The rules in force stay in force
// and can be read.
func TestRulesWithoutStore(t *testing.T) {
	redis := redistest.NewServer(t)
	g := serveWith(t, "rate_limit {\nredis {\naddress "+redis.Addr+"\n}\nbreaker {\nprobe_every 100ms\n}\n}", rulesZone)
	g.admin("POST", "/rate_limit/overrides", raiseAlice).added()
	g.admin("POST", "/rate_limit/overrides", `{"zone": "user", "key": "bob", "limit": "5/1h"}`).added()
	redis.Kill()

	const changed, counts, read = "the rules in force stay in force", "the store of the counts has failed", "cannot be read"
	for _, c := range []struct{ method, path, body, says string }{
		{"PATCH", "/rate_limit/rules", `{"overrides": null}`, changed},
		{"POST", "/rate_limit/rules/versions/1/rollback", `{}`, read},
		{"POST", "/rate_limit/access", `{"action": "deny", "address": "192.0.2.1"}`, changed},
		{"POST", "/rate_limit/emergency", `{"all_nodes": true}`, "use the same without all_nodes on each node"},
		{"DELETE", "/rate_limit/emergency?all_nodes=true", "", "use the same without all_nodes on each node"},
		{"POST", "/rate_limit/zones/user/reset", resetAlice, counts},
		{"POST", "/rate_limit/zones/user/quota", addToAlice, counts},
		{"GET", "/rate_limit/rules/versions", "", read},
		{"GET", "/rate_limit/rules/versions/1", "", read},
		{"GET", "/rate_limit/nodes", "", "GET /rate_limit/health/ready"},
	} {
		g.admin(c.method, c.path, c.body).is(503).says(`{"error":`, c.says)
	}
	g.admin("GET", "/rate_limit/rules", "").is(200).has("ETag", `"2"`).says(`"key":"alice"`)
	g.admin("GET", "/rate_limit/status", "").is(200)
	g.admin("POST", "/rate_limit/zones/user/inspect", `{"key": "alice"}`).is(200).says(`"limit":"5/1h"`, `"error":"`)
}

// Rules in Caddy's storage change while the Redis of the counts is gone.
func TestRulesWithoutCounts(t *testing.T) {
	redis := redistest.NewServer(t)
	options := "rate_limit {\nredis {\naddress " + redis.Addr + "\n}\nrules storage\n}"
	g := serveWith(t, options, rulesZone)
	redis.Kill()
	g.admin("POST", "/rate_limit/zones/user/reset", resetAlice).is(503).says("the store of the counts has failed")
	g.admin("POST", "/rate_limit/zones/user/quota", addToAlice).is(503).says("the store of the counts has failed")
	g.admin("GET", "/rate_limit/rules/versions", "").is(200).says(`{"versions":[]}`)
	g.admin("POST", "/rate_limit/overrides", raiseAlice).is(201)
	g.admin("GET", "/rate_limit/rules/versions", "").is(200).says(`"version":1`)
}
