package integration

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// The commands of operators and of monitoring run while Redis answers, while it fails, and while there is no
// Caddy.
func TestCommandsInOutage(t *testing.T) {
	redis := redistest.NewServer(t)
	g, s := serveWith(t, "rate_limit {\nredis {\naddress "+redis.Addr+"\n}\nbreaker {\nprobe_every 100ms\n}\n}", zoneSite("limit 5/1h")), newShell(t)
	g.awaitAdmin()
	redistest.Eventually(t, "a ready node", func() bool { return g.admin("GET", "/rate_limit/health/ready", "").status == 200 })
	check := func(line string, code int, says ...string) {
		t.Helper()
		output, errors, got := s.exec(line)
		if got != code {
			t.Errorf("%s: exit code %d, want %d; it says\n%s%s", line, got, code, output, errors)
		}
		for _, text := range says {
			if !strings.Contains(strings.Join(strings.Fields(output+errors), " "), text) {
				t.Errorf("%s says\n%s%s, want %q", line, output, errors, text)
			}
		}
		if code == 1 && errors != "" {
			t.Errorf("%s: on the standard error %q, want nothing", line, errors)
		}
	}
	check("caddy rate-limit health", 0, "status ok")
	check("caddy rate-limit status", 0, "status ok")
	redis.Kill()
	redistest.Eventually(t, "an open breaker", func() bool { return g.admin("GET", "/rate_limit/health/ready", "").status == 503 })
	for _, command := range []string{"health", "status"} {
		check("caddy rate-limit "+command, 1, "status degraded primary "+redis.Addr+": no connection: dial tcp "+redis.Addr, "connection refused")
		check("caddy rate-limit "+command+" --json", 1, `"status":"degraded"`, `"breaker":"open"`)
	}
	for _, probe := range []string{"live", "serving"} {
		check("caddy rate-limit health --probe "+probe, 0)
	}
	check("caddy rate-limit health --probe ready", 1)
	polls := func(want string) {
		t.Helper()
		redistest.Eventually(t, want, func() bool {
			output, _, _ := s.exec("caddy rate-limit status")
			return strings.Contains(strings.Join(strings.Fields(output), " "), want)
		})
	}
	polls("failed polls 1 rules error rules: the store cannot be reached: redis: ")
	redis.Restart()
	polls("failed polls 0 emergency off")
	check("caddy rate-limit health --address "+redistest.FreeAddr(), 2, "there is no answer from")
	check("caddy rate-limit health now", 2, "the number of arguments is 1")
}

// All Sentinels die, but the primary that they named answers.
func TestDeadSentinels(t *testing.T) {
	sentinel := redistest.NewSentinel(t)
	options := "rate_limit {\nredis sentinel {\naddress " + strings.Join(sentinel.Addrs, " ") + "\nmaster_name " + sentinel.MasterName + "\n}\n}"
	g, s := serveWith(t, options, zoneSite("limit 5/1h")), newShell(t)
	g.awaitAdmin()
	redistest.Eventually(t, "a ready node", func() bool { return g.admin("GET", "/rate_limit/health/ready", "").status == 200 })
	store := "redis sentinel " + strings.Join(sentinel.Addrs, " ")
	failing := func() float64 { return g.metric(fmt.Sprintf("caddy_rate_limit_redis_lookup_failing{store=%q}", store)) }
	if value := failing(); value != 0 {
		t.Errorf("metric = %v, want 0", value)
	}
	for _, server := range sentinel.Sentinels {
		server.Kill()
	}
	const line = "the primaries of Redis cannot be looked up"
	redistest.Eventually(t, "a line about the Sentinels", func() bool { return len(g.logged(line)) == 1 })
	if value, fields := failing(), g.logged(line)[0]; value != 1 || fields["level"] != "error" || !strings.Contains(fmt.Sprint(fields["error"]), "refused") {
		t.Errorf("metric = %v, line = %v; want 1, and an error", value, fields)
	}
	output, _, code := s.exec("caddy rate-limit status")
	if code != 1 || !strings.Contains(output, "the primaries cannot be looked up: ") || !strings.Contains(output, "connection refused") {
		t.Errorf("status: exit code %d\n%s, want 1, and why", code, output)
	}
	g.get("/", alice).admitted(4)
	sentinel.Sentinels[0].Restart()
	redistest.Eventually(t, "a line about the end", func() bool { return len(g.logged("the primaries of Redis can be looked up again")) == 1 })
	if value := failing(); value != 0 {
		t.Errorf("metric = %v in the end, want 0", value)
	}
}
