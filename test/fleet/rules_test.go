package fleet

import (
	"os"
	"path/filepath"
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

func newOperator(t *testing.T, store rules.VersionStore) *operator {
	o := &operator{t, rules.NewWatcher(store, rules.Options{})}
	t.Cleanup(func() { _ = o.w.Close() })
	return o
}

// rulesIn returns the store of the rules of nodes that share a Redis.
func rulesIn(t *testing.T, redis *redistest.Server) rules.VersionStore {
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

// A customer who floods a node gets an override, which helps on all nodes at once and until the second at
// which it ends. Reloads do not change that, and neither do reloads that fail.
func TestRulesReachAllNodes(t *testing.T) {
	redis := redistest.NewServer(t)
	options := nodetest.InRedis(redis.Addr, "timeout 5s")
	nodes := nodetest.StartAll(t, 2, options, nodetest.UserSite("2/24h"))
	o := newOperator(t, rulesIn(t, redis))
	for _, n := range nodes {
		n.AwaitStatus(429, "a")
		n.AwaitStatus(429, "b")
	}
	o.change(func(d *rules.Document) {
		d.Overrides = append(d.Overrides, &rules.Override{
			Entry: rules.Entry{ID: "launch"}, Key: rules.Key{Zone: "user", Text: "a"}, Limit: "500000/24h",
		})
	})
	for i, n := range nodes {
		if took := n.AwaitStatus(200, "a"); took > 2*time.Second {
			t.Errorf("node %d admits the key after %v, want less than 2 s", i, took)
		}
		n.MustGet(429, "/", "X-Api-Key: b")
	}
	nodes[1].Await("the version in the metrics", func() bool {
		return nodes[1].Metric(`caddy_rate_limit_rules_version{store="redis"}`) == 1
	})

	reloaded := nodes[0]
	reloaded.Reload(options, nodetest.UserSite("1/24h"))
	reloaded.MustGet(200, "/", "X-Api-Key: a")
	if out, err := reloaded.TryReload(options, nodetest.UserSite("0/24h")); err == nil {
		t.Fatalf("a wrong configuration loads: %s", out)
	}
	reloaded.MustGet(200, "/", "X-Api-Key: a")

	end := time.Now().Add(2500 * time.Millisecond).Truncate(time.Second)
	o.change(func(d *rules.Document) {
		override := *d.Overrides[0]
		override.ExpiresAt = &end
		d.Overrides[0] = &override
	})
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
}

// A node that starts while rules are in force obeys them from its first request on.
func TestRulesAreInForceFromTheStart(t *testing.T) {
	redis := redistest.NewServer(t)
	newOperator(t, rulesIn(t, redis)).change(func(d *rules.Document) {
		d.Access = append(d.Access, &rules.AccessEntry{Entry: rules.Entry{ID: "abuse"}, Action: rules.Deny, Address: "127.0.0.1"})
	})
	n := nodetest.Start(t, nodetest.InRedis(redis.Addr, "timeout 5s"), nodetest.UserSite("2/24h"))
	n.MustGet(403, "/", "X-Api-Key: a")
}

// Without Redis, the rules are in the files of the node, and outlive a kill of the node.
func TestRulesInStorage(t *testing.T) {
	n := nodetest.Start(t, "rules storage", nodetest.UserSite("2/24h"))
	if _, err := os.Stat(n.Storage + "/rate_limit"); err == nil {
		t.Error("a node without rules has written some")
	}
	n.MustGet(200, "/", "X-Api-Key: a")
	const deny = `{"action": "deny", "address": "127.0.0.1"}`
	n.MustAsk("POST", "access", deny)
	n.MustGet(403, "/", "X-Api-Key: a")
	n.Kill()
	n.Restart()
	n.MustGet(403, "/", "X-Api-Key: a")
}

// A Redis that keeps nothing loses the rules when it is restarted. The first node that starts after that
// gives them back, with their history, from the copy in its storage. The node has warned before that Redis
// may lose them.
func TestRulesOutliveRedisAndNodes(t *testing.T) {
	redis := redistest.NewServer(t, "maxmemory 100mb", "maxmemory-policy allkeys-lru")
	options := nodetest.InRedis(redis.Addr, "timeout 5s")
	n := nodetest.Start(t, options, nodetest.UserSite("2/24h"))
	o := newOperator(t, rulesIn(t, redis))
	for _, id := range []string{"first", "second"} {
		o.change(func(d *rules.Document) {
			d.Access = append(d.Access, &rules.AccessEntry{Entry: rules.Entry{ID: id}, Action: rules.Deny, Address: "127.0.0.1"})
		})
	}
	n.AwaitStatus(403, "a")
	for _, warning := range []string{"use appendonly yes", "use maxmemory-policy noeviction"} {
		n.Await("a warning", func() bool { return strings.Contains(n.Logged(), warning) })
	}
	n.Await("the copy", func() bool {
		files, _ := filepath.Glob(n.Storage + "/rate_limit/rules_copies/*/versions.json")
		if len(files) != 1 {
			return false
		}
		text, _ := os.ReadFile(files[0])
		return strings.Contains(string(text), `"version":1,`) && strings.Contains(string(text), `"version":2,`)
	})
	n.Kill()
	if err := o.w.Close(); err != nil { // the operator's watcher knows the rules, too
		t.Fatal(err)
	}
	redis.Kill()
	n.Restart()
	n.AwaitStatus(403, "a") // by the copy, while Redis does not answer
	redis.Restart()
	store := rulesIn(t, redis)
	n.Await("the rules in Redis", func() bool {
		history, err := store.History(t.Context(), 0, 10)
		return err == nil && len(history) == 2
	})
	if v, err := store.Version(t.Context(), 1); err != nil || len(v.Document.Access) != 1 || v.Document.Access[0].ID != "first" {
		t.Errorf("version 1 = %+v, %v, want it as it was", v, err)
	}
	n.MustGet(403, "/", "X-Api-Key: a")
	for _, line := range []string{"those of the copy in Caddy's storage are in force", "which was written back"} {
		n.Await("a line of the log", func() bool { return strings.Contains(n.Logged(), line) })
	}
}

// A node that knows older rules with higher numbers follows the rules that operators have made anew in an
// empty Redis.
func TestRulesMadeAnewStay(t *testing.T) {
	redis := redistest.NewServer(t, "appendonly yes")
	options := nodetest.InRedis(redis.Addr, "timeout 5s")
	n := nodetest.Start(t, options, nodetest.UserSite("2/24h"))
	old := newOperator(t, rulesIn(t, redis))
	for range 3 {
		old.change(func(d *rules.Document) {
			d.Access = []*rules.AccessEntry{{Entry: rules.Entry{ID: "old"}, Action: rules.Deny, Address: "127.0.0.1"}}
		})
	}
	n.AwaitStatus(403, "a")
	if err := old.w.Close(); err != nil {
		t.Fatal(err)
	}
	n.Kill()
	if err := redis.Client().FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	newOperator(t, rulesIn(t, redis)).change(func(d *rules.Document) {
		d.Overrides = append(d.Overrides, &rules.Override{
			Entry: rules.Entry{ID: "new"}, Key: rules.Key{Zone: "user", Text: "a"}, Limit: "3/24h",
		})
	})
	n.Restart()
	n.AwaitStatus(200, "a")
	if v, err := rulesIn(t, redis).Latest(t.Context()); err != nil || v.Number != 1 || len(v.Document.Overrides) != 1 {
		t.Errorf("the newest version = %+v, %v, want that which was made anew", v, err)
	}
	if strings.Contains(n.Logged(), "use appendonly yes") {
		t.Error("the node warns about a Redis that persists")
	}
}

// A reset at one node ends the denials that the other nodes repeat by themselves.
func TestResetReachesAllNodes(t *testing.T) {
	redis := redistest.NewServer(t)
	nodes := nodetest.StartAll(t, 2, nodetest.InRedis(redis.Addr, "timeout 5s"), nodetest.UserSite("2/24h"))
	for _, n := range nodes {
		n.AwaitStatus(429, "a")
	}
	nodes[0].MustAsk("POST", "zones/user/reset", `{"key": "a"}`)
	if took := nodes[1].AwaitStatus(200, "a"); took > 5*time.Second {
		t.Errorf("the other node admits the key after %v, want less than 5 s", took)
	}
}
