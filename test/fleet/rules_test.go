package fleet

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/redisconn"
	"github.com/fleetlimit/fleetlimit/rules"
	"github.com/fleetlimit/fleetlimit/rules/rulestore"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// An operator changes the rules of the nodes that share a Redis.
type operator struct {
	t *testing.T
	w *rules.Watcher
}

func newOperator(t *testing.T, redis *redistest.Server) *operator {
	client := redisconn.New(redisconn.Options{Addresses: []string{redis.Addr}, Timeout: 5 * time.Second})
	o := &operator{t, rules.NewWatcher(rulestore.NewRedis(client, "rl"), rules.Options{})}
	t.Cleanup(func() {
		_ = o.w.Close()
		client.Close()
	})
	return o
}

func (o *operator) change(apply func(*rules.Document), actions ...rules.Action) {
	o.t.Helper()
	_, err := o.w.Update(o.t.Context(), rules.Change{Author: "operator", Actions: actions, Apply: func(d *rules.Document) error {
		apply(d)
		return nil
	}})
	if err != nil {
		o.t.Fatal(err)
	}
}

// awaitStatus waits for a status of requests of a key, and returns how long that took.
func (n *node) awaitStatus(status int, key string) time.Duration {
	n.t.Helper()
	start := time.Now()
	n.await("a response", func() bool {
		got, _, err := n.get("/", "X-Api-Key: "+key)
		return err == nil && got == status
	})
	return time.Since(start)
}

// A customer who is flooding a node is helped on all nodes at once, and until the second at which the
// override ends. Reloads change nothing about that, and neither do those that fail.
func TestRulesReachAllNodes(t *testing.T) {
	redis := redistest.NewServer(t)
	options := "redis {\n\taddress " + redis.Addr + "\n\ttimeout 5s\n}"
	nodes := startAll(t, 2, options, userSite("2/24h"))
	o := newOperator(t, redis)
	for _, n := range nodes {
		n.awaitStatus(429, "a")
		n.awaitStatus(429, "b")
	}
	o.change(func(d *rules.Document) {
		d.Overrides = append(d.Overrides, &rules.Override{
			Entry: rules.Entry{ID: "launch"}, Key: rules.Key{Zone: "user", Text: "a"}, Limit: "500000/24h",
		})
	})
	for i, n := range nodes {
		if took := n.awaitStatus(200, "a"); took > 2*time.Second {
			t.Errorf("node %d admits the key after %v, want less than 2 s", i, took)
		}
		n.mustGet(429, "/", "X-Api-Key: b")
	}

	reloaded := nodes[0]
	reloaded.reload(options, userSite("1/24h"))
	reloaded.mustGet(200, "/", "X-Api-Key: a")
	reloaded.write(options, userSite("0/24h"))
	if out, err := exec.Command(binary, "reload", "--config", reloaded.config, "--address", reloaded.admin).CombinedOutput(); err == nil {
		t.Fatalf("a wrong configuration loads: %s", out)
	}
	reloaded.mustGet(200, "/", "X-Api-Key: a")

	end := time.Now().Add(2500 * time.Millisecond).Truncate(time.Second)
	o.change(func(d *rules.Document) { d.Overrides[0].ExpiresAt = &end })
	for _, n := range nodes {
		late := 0 // requests admitted after the end
		n.await("the end of the override", func() bool {
			sent := time.Now()
			status, _, err := n.get("/", "X-Api-Key: a")
			if err != nil {
				t.Fatal(err)
			}
			if status == 200 && sent.After(end) {
				late++
			}
			return status == 429
		})
		if late > 1 { // the usual limit, of which returned leases may leave something
			t.Errorf("%d requests after the end of the override are admitted, want 1 at most", late)
		}
		if rejected := time.Now(); rejected.Before(end) {
			t.Errorf("a request is rejected %v before the end of the override", end.Sub(rejected))
		}
	}
	if v := nodes[1].metric(`caddy_rate_limit_rules_version{store="redis"}`); v != 2 {
		t.Errorf("metric of the version = %v, want 2", v)
	}
}

// A node that starts while rules are in force has them from its first request on.
func TestRulesAreInForceFromTheStart(t *testing.T) {
	redis := redistest.NewServer(t)
	newOperator(t, redis).change(func(d *rules.Document) {
		d.Access = append(d.Access, &rules.AccessEntry{Entry: rules.Entry{ID: "abuse"}, Action: rules.Deny, Address: "127.0.0.1"})
	})
	n := start(t, "redis {\n\taddress "+redis.Addr+"\n\ttimeout 5s\n}", userSite("2/24h"))
	n.mustGet(403, "/", "X-Api-Key: a")
}

// Without Redis the rules live in the files of the node, also after it was killed.
func TestRulesInStorage(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_DATA_HOME", dir)
	n := start(t, "rules storage", userSite("2/24h"))
	if _, err := os.Stat(dir + "/caddy/rate_limit"); err == nil {
		t.Error("a node without rules has written some")
	}
	n.mustGet(200, "/", "X-Api-Key: a")
}
