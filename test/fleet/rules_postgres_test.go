package fleet

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/fleetlimit/fleetlimit/test/nodetest"
	"github.com/fleetlimit/fleetlimit/test/pgtest"
)

// A node that starts without its PostgreSQL has the rules of its copy. A node without a copy has no rules,
// and is not healthy until it has read some.
func TestNodesStartWithoutPostgres(t *testing.T) {
	server := pgtest.NewServer(t)
	options := "rules postgres " + server.URL("postgres")
	n := nodetest.Start(t, options, nodetest.UserSite("2/24h"))
	n.Await("the configuration to run, and PostgreSQL", func() bool {
		status, _ := n.Ask("POST", "access", `{"action": "deny", "address": "127.0.0.1"}`)
		return status == 201
	})
	n.AwaitStatus(403, "a")
	n.Await("the copy", func() bool {
		files, _ := filepath.Glob(n.Storage + "/rate_limit/rules_copies/*/versions.json")
		return len(files) == 1
	})
	n.Kill()
	server.Kill()

	n.Restart()
	n.AwaitStatus(403, "a")
	n.Await("readiness, by the copy", func() bool {
		status, _ := n.Ask("GET", "health/ready", "")
		return status == 200 && strings.Contains(n.Logged(), "those of the copy in Caddy's storage are in force")
	})

	fresh := nodetest.Start(t, options, nodetest.UserSite("2/24h"))
	fresh.MustGet(200, "/", "X-Api-Key: a")
	const remedy = "use a PostgreSQL that runs"
	fresh.Await("ready to say that no rules were read", func() bool {
		status, answer := fresh.Ask("GET", "health/ready", "")
		return status == 503 && strings.Contains(answer, `"unread_rules":[{"store":"postgres"`)
	})
	fresh.Await("a line of the log", func() bool { return strings.Contains(fresh.Logged(), "no rules are in force") })
	for _, command := range []string{"health", "status"} {
		out, err := nodetest.Command("rate-limit", command, "--address", fresh.Admin).CombinedOutput()
		if text := string(out); err == nil || !strings.Contains(text, "unread rules") || !strings.Contains(text, remedy) {
			t.Errorf("%s without rules = %v\n%s", command, err, text)
		}
	}

	server.Restart(t)
	fresh.AwaitStatus(403, "a")
	fresh.Await("readiness", func() bool {
		status, _ := fresh.Ask("GET", "health/ready", "")
		return status == 200
	})
}
