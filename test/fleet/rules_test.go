package fleet

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/redisconn"
	"github.com/fleetlimit/fleetlimit/rules"
	"github.com/fleetlimit/fleetlimit/rules/rulestore"
	"github.com/fleetlimit/fleetlimit/test/nodetest"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// An operator changes the rules in a store.
type operator struct {
	t *testing.T
	w *rules.Watcher
}

func newOperator(t *testing.T, store rules.Store) *operator {
	o := &operator{t, rules.NewWatcher(store, rules.Options{})}
	t.Cleanup(func() { _ = o.w.Close() })
	return o
}

// rulesIn returns the store of the rules of nodes that share a Redis.
func rulesIn(t *testing.T, redis *redistest.Server) rules.Store {
	client := redisconn.New(redisconn.Options{Addresses: []string{redis.Addr}, Timeout: 5 * time.Second})
	t.Cleanup(client.Close)
	return rulestore.NewRedis(client, "rl")
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

// awaitStatus waits until n answers requests of a key with a status, and returns how long that
// took.
func awaitStatus(t *testing.T, n *nodetest.Node, status int, key string) time.Duration {
	t.Helper()
	start := time.Now()
	n.Await("a response", func() bool {
		got, _, err := n.Get("/", "X-Api-Key: "+key)
		return err == nil && got == status
	})
	return time.Since(start)
}

// A customer who is flooding a node is helped on all nodes at once, and until the second at which
// the override ends. Reloads change nothing about that, and neither do those that fail.
func TestRulesReachAllNodes(t *testing.T) {
	redis := redistest.NewServer(t)
	options := "redis {\n\taddress " + redis.Addr + "\n\ttimeout 5s\n}"
	nodes := nodetest.StartAll(t, 2, options, userSite("2/24h"))
	o := newOperator(t, rulesIn(t, redis))
	for _, n := range nodes {
		awaitStatus(t, n, 429, "a")
		awaitStatus(t, n, 429, "b")
	}
	o.change(func(d *rules.Document) {
		d.Overrides = append(d.Overrides, &rules.Override{
			Entry: rules.Entry{ID: "launch"}, Key: rules.Key{Zone: "user", Text: "a"}, Limit: "500000/24h",
		})
	})
	for i, n := range nodes {
		if took := awaitStatus(t, n, 200, "a"); took > 2*time.Second {
			t.Errorf("node %d admits the key after %v, want less than 2 s", i, took)
		}
		n.MustGet(429, "/", "X-Api-Key: b")
	}

	reloaded := nodes[0]
	reloaded.Reload(options, userSite("1/24h"))
	reloaded.MustGet(200, "/", "X-Api-Key: a")
	if out, err := reloaded.TryReload(options, userSite("0/24h")); err == nil {
		t.Fatalf("a wrong configuration loads: %s", out)
	}
	reloaded.MustGet(200, "/", "X-Api-Key: a")

	end := time.Now().Add(2500 * time.Millisecond).Truncate(time.Second)
	o.change(func(d *rules.Document) { d.Overrides[0].ExpiresAt = &end })
	for _, n := range nodes {
		late := 0 // requests admitted after the end
		n.Await("the end of the override", func() bool {
			sent := time.Now()
			status, _, err := n.Get("/", "X-Api-Key: a")
			if err != nil {
				t.Fatal(err)
			}
			if status == 200 && sent.After(end) {
				late++
			}
			return status == 429
		})
		if late > 0 {
			t.Errorf("%d requests after the end of the override are admitted, want none", late)
		}
		if rejected := time.Now(); rejected.Before(end) {
			t.Errorf("a request is rejected %v before the end of the override", end.Sub(rejected))
		}
	}
	if v := nodes[1].Metric(`caddy_rate_limit_rules_version{store="redis"}`); v != 2 {
		t.Errorf("metric of the version = %v, want 2", v)
	}
}

// A node that starts while rules are in force has them from its first request on.
func TestRulesAreInForceFromTheStart(t *testing.T) {
	redis := redistest.NewServer(t)
	newOperator(t, rulesIn(t, redis)).change(func(d *rules.Document) {
		d.Access = append(d.Access, &rules.AccessEntry{Entry: rules.Entry{ID: "abuse"}, Action: rules.Deny, Address: "127.0.0.1"})
	})
	n := nodetest.Start(t, "redis {\n\taddress "+redis.Addr+"\n\ttimeout 5s\n}", userSite("2/24h"))
	n.MustGet(403, "/", "X-Api-Key: a")
}

// Without Redis the rules live in the files of the node, also after it was killed.
func TestRulesInStorage(t *testing.T) {
	n := nodetest.Start(t, "rules storage", userSite("2/24h"))
	if _, err := os.Stat(n.Storage + "/rate_limit"); err == nil {
		t.Error("a node without rules has written some")
	}
	n.MustGet(200, "/", "X-Api-Key: a")
	const deny = `{"action": "deny", "address": "127.0.0.1"}`
	answer, err := n.Client.Post("http://"+n.Admin+"/rate_limit/access", "application/json", strings.NewReader(deny))
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	n.MustGet(403, "/", "X-Api-Key: a")
	n.Kill()
	n.Restart()
	n.MustGet(403, "/", "X-Api-Key: a")
}
