package runbooks

import (
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/test/nodetest"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

func newRequest(t *testing.T, n *nodetest.Node, header string) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+n.Addr+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	name, value, _ := strings.Cut(header, ": ")
	req.Header.Set(name, value)
	return req
}

// options returns the global option of nodes that count in a Redis.
func options(addr string) string {
	return nodetest.InRedis(addr) + "\nbreaker {\n\tprobe_every 100ms\n\tprobes 1\n}"
}

// inMemory is a global option without Redis: nodes count in their memory.
const inMemory = "defaults {\n\theaders all\n}"

// awaitHealthy waits until a node is ready or, if want is false, until it is not.
func awaitHealthy(n *nodetest.Node, want bool) {
	n.Await("its health", func() bool {
		status, _ := n.Ask(http.MethodGet, "health/ready", "")
		return (status == http.StatusOK) == want
	})
}

func TestRedisDown(t *testing.T) {
	t.Parallel()
	redis := redistest.NewServer(t)
	n := nodetest.Start(t, options(redis.Addr), nodetest.UserSite("1000/1h"))
	w := begin(t, "redis-down.md", n)
	awaitHealthy(n, true)
	redis.Kill()
	awaitHealthy(n, false)
	if h := n.MustGet(200, "/", "X-Api-Key: a"); h.Get("X-RateLimit-Policy") != "degraded" {
		t.Errorf("headers while Redis is down = %v, want degraded ones", h)
	}
	n.Await("connections that are refused, after one that was reset", func() bool {
		printed, _ := w.exec("caddy rate-limit health")
		return strings.Contains(printed, "connection refused")
	})
	printed, code := w.run("caddy rate-limit health")
	w.has(printed, "status degraded", redis.Addr, "connection refused")
	if code != 1 {
		t.Errorf("exit code = %d, want 1", code)
	}
	redis.Restart()
	awaitHealthy(n, true)
	w.has(w.next("caddy rate-limit health"), "status ok")
}

// latency matches how long a primary takes, in milliseconds.
var latency = regexp.MustCompile(`"latency_ms":([\d.]+)`)

func TestRedisSlow(t *testing.T) {
	t.Parallel()
	const delay = 20 // milliseconds
	redis := redistest.NewServer(t, "slowlog-log-slower-than 60000000")
	proxy := redistest.NewProxy(t, redis.Addr)
	n := nodetest.Start(t, options(proxy.Addr), nodetest.UserSite("1000/1h"))
	w := begin(t, "redis-slow.md", n, "redis-cli", "redis-cli -p "+redistest.Port(redis.Addr))
	n.AwaitStatus(200, "a")
	latencyIn := func(printed string) float64 {
		t.Helper()
		found := latency.FindStringSubmatch(printed)
		if found == nil {
			t.Fatal("the status has no latency")
		}
		ms, _ := strconv.ParseFloat(found[1], 64)
		return ms
	}
	slow := func() bool {
		return n.Metric(fmt.Sprintf("caddy_rate_limit_redis_latency_seconds{primary=%q,store=%q}",
			proxy.Addr, "redis standalone "+proxy.Addr)) >= delay*.001
	}
	proxy.Delay(delay * time.Millisecond)
	n.Await("slow answers", slow)
	if ms := latencyIn(w.next("caddy rate-limit status --json")); ms < delay {
		t.Errorf("latency = %v ms, want %d or more", ms, delay)
	}
	another := redis.Client().TxPipeline() // another program, whose command alone gets into the slow log
	another.ConfigSet(t.Context(), "slowlog-log-slower-than", "0")
	another.Keys(t.Context(), "*")
	another.ConfigSet(t.Context(), "slowlog-log-slower-than", "60000000")
	if _, err := another.Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.has(strings.ToLower(w.next("redis-cli slowlog get 5")), "keys *")
	w.has(w.next("redis-cli info commandstats"), "cmdstat_evalsha:calls=")
	w.has(w.next("redis-cli info memory"), "used_memory:", "maxmemory:", "mem_fragmentation_ratio:")
	w.has(w.next("redis-cli info replication"), "role:master", "master_repl_offset:")
	proxy.Delay(0)
	again := w.commands[0]
	w.next("caddy rate-limit status --json")
	n.Await("a short latency by that command", func() bool { // a busy machine answers late now and then
		printed, _ := w.exec(again)
		return latencyIn(printed) < delay
	})
}

func TestHotKey(t *testing.T) {
	t.Parallel()
	const key = "sk_live_1"
	n := nodetest.Start(t, inMemory, nodetest.UserSite("100/1h"))
	w := begin(t, "hot-key.md", n)
	for i := range 110 {
		status(t, n, key)
		if i < 5 {
			status(t, n, "other")
		}
	}
	printed := w.next("caddy rate-limit top user")
	if hot, other := strings.Index(printed, "sk…"), strings.Index(printed, "o…"); hot < 0 || other < hot {
		t.Errorf("top = %q, want %s first, and the other behind it", printed, key)
	}
	stop := send(n, always(key))
	w.has(w.next("caddy rate-limit decisions"), "rejected", key)
	stop()
	w.has(w.next("caddy rate-limit inspect user "+key), "100/1h", "zone 100/1h (configuration)")
	if code := status(t, n, key); code != 429 {
		t.Errorf("status of the hot key = %d, want 429", code)
	}
	w.next("caddy rate-limit override add user " + key + " --multiplier 2")
	n.AwaitStatus(200, key)
	w.next("caddy rate-limit override remove")
	n.AwaitStatus(429, key)
	w.next("caddy rate-limit override add user " + key + " --limit 1/1s")
	rejected := func() (header http.Header) { // while a command takes a second, an event may come back
		n.Await("a rejection of the hot key", func() bool {
			code, h, err := n.Get("/", "X-Api-Key: "+key)
			header = h
			return err == nil && code == http.StatusTooManyRequests
		})
		return header
	}
	if h := rejected(); h.Get("X-RateLimit-Limit") != "1" {
		t.Errorf("headers with the lower limit = %v, want a limit of 1", h)
	}
	w.next("caddy rate-limit access deny")
	n.AwaitStatus(403, key)
	w.next("caddy rate-limit access remove")
	w.next("caddy rate-limit override remove")
	if h := rejected(); h.Get("X-RateLimit-Limit") != "100" {
		t.Errorf("headers after that = %v, want the limit of the zone", h)
	}
}

func TestKeyFlood(t *testing.T) {
	t.Parallel()
	n := nodetest.Start(t, inMemory, nodetest.UserSite("100/1h\n\t\t\tmax_keys 8"))
	w := begin(t, "key-flood.md", n)
	stop := send(n, func(i int) string { return fmt.Sprint("random", i) })
	defer stop()
	n.Await("keys without room", func() bool { return n.Metric(`caddy_rate_limit_evictions_total{zone="user"}`) > 0 })
	w.has(w.next("caddy rate-limit decisions"), "random", "127.0.0.1")
	w.has(w.next("caddy rate-limit access deny"), "192.0.2.0/24")
	w.has(w.next("caddy rate-limit emergency on"), "emergency on", "20/1s")
	n.AwaitStatus(429, "a new one")
	w.has(w.next("caddy rate-limit emergency off"), "emergency off")
	n.AwaitStatus(200, "another")
	w.next("caddy rate-limit access remove flood")
}

func TestLimitedWrongly(t *testing.T) {
	t.Parallel()
	const key = "sk_live_1"
	n := nodetest.Start(t, inMemory, nodetest.UserSite("5/24h"))
	w := begin(t, "limited-wrongly.md", n)
	for range 5 {
		n.MustGet(200, "/", "X-Api-Key: "+key)
	}
	w.has(w.next("curl -si"), "429 Too Many Requests", "X-Ratelimit-Limit: 5", `"zone":"user"`)
	w.has(w.next("caddy rate-limit explain /"), "zone user rejected", "{http.request.header.X-Api-Key} is "+key, "0 of 5 left")
	w.has(w.next("caddy rate-limit history "+key), "rejected user", "5/1d")
	w.has(w.next("caddy rate-limit inspect user "+key), "5/1d", "zone 5/1d (configuration)")
	stop := send(n, always(key))
	w.has(w.next("caddy rate-limit decisions "+key), "rejected", key, "127.0.0.1")
	stop()
	w.has(w.next("caddy rate-limit status"), "status ok")
	w.next("caddy rate-limit reset user " + key)
	n.MustGet(200, "/", "X-Api-Key: "+key)
	w.next("caddy rate-limit override add user " + key)
	if h := n.MustGet(200, "/", "X-Api-Key: "+key); h.Get("X-RateLimit-Limit") != "10" {
		t.Errorf("headers with the override = %v, want a limit of 10", h)
	}
}

func TestRollBack(t *testing.T) {
	t.Parallel()
	n := nodetest.Start(t, inMemory, nodetest.UserSite("100/1h"))
	before := t.TempDir() + "/Caddyfile"
	w := begin(t, "roll-back.md", n, "Caddyfile.before", before)
	for _, limit := range []string{"50/1h", "1/1h"} { // a good change, and a bad one
		if printed, code := w.exec("echo 'zones: {user: {limit: " + limit + "}}' | caddy rate-limit rules patch -"); code != 0 {
			t.Fatal(printed)
		}
	}
	w.has(w.next("caddy rate-limit rules history"), "50/1h to 1/1h", "limit 50/1h")
	w.has(w.next("caddy rate-limit rules diff"), "version 1 to 2", "50/1h", "1/1h")
	w.next("caddy rate-limit rules rollback 1")
	if h := n.MustGet(200, "/", "X-Api-Key: a"); h.Get("X-RateLimit-Limit") != "50" {
		t.Errorf("headers after the rollback = %v, want a limit of 50", h)
	}
	w.has(w.next("caddy rate-limit status zones"), "50/1h token_bucket", "(rules)")

	text, err := os.ReadFile(n.Config)
	if err == nil {
		err = os.WriteFile(before, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	n.Reload(inMemory, nodetest.UserSite("100/1h\n\t\t\talgorithm fixed_window"))
	w.has(w.next("caddy validate"), "Valid configuration")
	w.has(w.next("caddy rate-limit plan"), "zone user: changed", "fixed_window is now")
	w.next("caddy reload")
	w.has(w.next("caddy rate-limit status zones"), "50/1h token_bucket")
}

func TestEmergencyMode(t *testing.T) {
	t.Parallel()
	redis := redistest.NewServer(t)
	nodes := nodetest.StartAll(t, 2, options(redis.Addr), nodetest.UserSite("100000/1h"))
	w := begin(t, "emergency-mode.md", nodes[0])
	nodes[0].AwaitStatus(200, "a")
	stop := send(nodes[0], always("a"))
	defer stop()
	w.has(w.next("caddy rate-limit decisions"), "CLIENT", "127.0.0.1")
	w.has(w.next("caddy rate-limit emergency on"), "10/1s")
	for _, n := range nodes {
		n.AwaitStatus(429, "b")
	}
	w.has(w.next("caddy rate-limit emergency show"), "emergency on", "10/1s", "nodes all", "flood")
	w.has(w.next("caddy rate-limit emergency on"), "50/1s")
	w.next("caddy rate-limit emergency off")
	for _, n := range nodes {
		n.Await("the end of emergency mode", func() bool { return n.Metric("caddy_rate_limit_emergency") == 0 })
	}
}

func TestNodeDisagrees(t *testing.T) {
	t.Parallel()
	redis := redistest.NewServer(t)
	good := nodetest.Start(t, options(redis.Addr), nodetest.UserSite("3/24h"))
	bad := nodetest.Start(t, options(redis.Addr), nodetest.UserSite("30/24h"))
	w := begin(t, "node-disagrees.md", bad, "/etc/caddy/Caddyfile", bad.Config)
	differing := fmt.Sprintf("caddy_rate_limit_mismatched_zones{store=%q}", "redis standalone "+redis.Addr)
	bad.Await("a node that disagrees", func() bool { return bad.Metric(differing) == 1 })
	w.has(w.next("caddy rate-limit status"), "mismatch zone user differs at", "in limit")
	if nodes := strings.Count(w.next("caddy rate-limit status nodes"), " ago"); nodes != 2 {
		t.Errorf("nodes = %d, want 2", nodes)
	}
	text, err := os.ReadFile(bad.Config)
	if err == nil {
		err = os.WriteFile(bad.Config, []byte(strings.Replace(string(text), "30/24h", "3/24h", 1)), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	w.has(w.next("caddy rate-limit plan"), "30/1d token_bucket is now 3/1d")
	w.next("caddy reload")
	for _, n := range []*nodetest.Node{bad, good} {
		n.Await("agreement", func() bool { return n.Metric(differing) == 0 })
	}
	if printed := w.next("caddy rate-limit status"); strings.Contains(printed, "mismatch") {
		t.Errorf("status after that = %q, want no mismatch", printed)
	}
}

func TestMoveRedis(t *testing.T) {
	t.Parallel()
	const limit = 5
	from, to := redistest.NewServer(t), redistest.NewServer(t)
	nodes := nodetest.StartAll(t, 2, options(from.Addr), nodetest.UserSite(fmt.Sprint(limit, "/24h")))
	config := t.TempDir() + "/Caddyfile"
	w := begin(t, "move-redis.md", nodes[0], "-h new -p 6379", "-p "+redistest.Port(to.Addr), "-h old -p 6379", "-p "+redistest.Port(from.Addr),
		"replicaof old 6379", "replicaof 127.0.0.1 "+redistest.Port(from.Addr), "to new 6379", "to 127.0.0.1 "+redistest.Port(to.Addr), "Caddyfile.new", config)
	admitted := make(map[string]int)
	for range limit + 1 {
		for _, n := range nodes {
			if status(t, n, "exhausted") == 200 {
				admitted["exhausted"]++
			}
		}
	}
	if status(t, nodes[0], "used") == 200 {
		admitted["used"]++
	}
	text, err := os.ReadFile(nodes[0].Config)
	if err == nil {
		err = os.WriteFile(config, []byte(strings.ReplaceAll(string(text), from.Addr, to.Addr)), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	w.has(w.next("caddy rate-limit health"), "status ok")
	w.next("caddy validate")
	w.has(w.next("redis-cli -h new -p 6379 replicaof"), "OK")
	replication := func(of *redistest.Server, text string) func() bool {
		return func() bool { return strings.Contains(of.Client().Info(t.Context(), "replication").Val(), text) }
	}
	nodes[0].Await("the replica", replication(from, "state=online"))
	w.has(w.next("redis-cli -h old -p 6379 info replication"), "state=online")
	w.has(w.next("redis-cli -h old -p 6379 failover"), "OK")
	nodes[0].Await("the failover", replication(to, "role:master"))
	reload := w.commands[0]
	w.next("caddy reload")
	if printed, code := w.exec(strings.Replace(reload, "Caddyfile.new", other(t, nodes[1], from.Addr, to.Addr), 1)); code != 0 {
		t.Fatal(printed)
	}
	for _, n := range nodes {
		awaitHealthy(n, true)
	}
	w.has(w.next("caddy rate-limit health"), "status ok")
	for range limit + 1 {
		for _, n := range nodes {
			for key := range admitted {
				if status(t, n, key) == 200 {
					admitted[key]++
				}
			}
		}
	}
	if admitted["exhausted"] != limit || admitted["used"] > limit || admitted["used"] < 1 {
		t.Errorf("admitted before and after the move = %v, want %d of the first, and no more of the second", admitted, limit)
	}
	if printed := w.next("redis-cli -h old -p 6379 client list"); strings.Contains(printed, "cmd=evalsha") {
		t.Errorf("nodes still use the old Redis: %s", printed)
	}
}

// other writes a copy of the configuration of another node, with the new address of Redis, and returns its
// path.
func other(t *testing.T, n *nodetest.Node, from, to string) (path string) {
	t.Helper()
	text, err := os.ReadFile(n.Config)
	path = t.TempDir() + "/Caddyfile"
	if err == nil {
		err = os.WriteFile(path, []byte(strings.ReplaceAll(string(text), from, to)), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestUpgrade(t *testing.T) {
	t.Parallel()
	redis := redistest.NewServer(t)
	nodes := nodetest.StartAll(t, 2, options(redis.Addr), nodetest.UserSite("100/1h"))
	n := nodes[0]
	w := begin(t, "upgrade.md", n, "/etc/caddy/Caddyfile", n.Config)
	seen := func() int {
		return int(n.Metric(fmt.Sprintf("caddy_rate_limit_nodes{store=%q}", "redis standalone "+redis.Addr)))
	}
	n.Await("two nodes", func() bool { return seen() == 2 })
	w.has(w.next("caddy rate-limit health"), "status ok")
	if found := strings.Count(w.next("caddy rate-limit status nodes"), " ago"); found != 2 {
		t.Errorf("nodes before = %d, want 2", found)
	}
	w.has(w.next("caddy validate"), "Valid configuration")
	w.next("caddy stop")
	n.AwaitExit()
	t.Cleanup(func() { _, _ = w.exec("caddy stop --config /etc/caddy/Caddyfile") })
	w.next("caddy start")
	awaitHealthy(n, true)
	w.has(w.next("caddy rate-limit health"), "status ok")
	if found := strings.Count(w.next("caddy rate-limit status nodes"), " ago"); found != 2 {
		t.Errorf("nodes after = %d, want 2", found)
	}
	n.MustGet(200, "/", "X-Api-Key: a")
}
