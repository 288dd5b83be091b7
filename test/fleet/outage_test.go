package fleet

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/test/nodetest"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// degraded reports whether a response has the headers of a request that was not counted.
func degraded(h http.Header) bool {
	return h.Get("X-RateLimit-Remaining") == "-1" && h.Get("X-RateLimit-Policy") == "degraded" && h.Get("RateLimit") == ""
}

// Redis is down when the node starts. It is then started and killed twice. No request fails. Responses are
// degraded while Redis is down, and the limit holds while it is up.
func TestRedisOutage(t *testing.T) {
	redis := redistest.NewServer(t)
	redis.Kill()
	n := nodetest.Start(t, nodetest.InRedis(redis.Addr), nodetest.UserSite("2/24h\n\t\t\ton_outage open"))
	if h := n.MustGet(200, "/", "X-Api-Key: a"); !degraded(h) {
		t.Errorf("headers without Redis = %v, want degraded ones", h)
	}
	for _, key := range []string{"X-Api-Key: b", "X-Api-Key: c"} { // another key each time: the node knows how much of the first was used
		redis.Restart()
		n.Await("decisions by Redis", func() bool { // of another key, because events that are admitted meanwhile are debited
			_, h, err := n.Get("/", "X-Api-Key: any")
			return err == nil && !degraded(h)
		})
		for _, status := range []int{200, 200, 429} {
			if h := n.MustGet(status, "/", key); degraded(h) {
				t.Errorf("headers with Redis = %v, want a decision by Redis", h)
			}
		}
		redis.Kill()
		n.Await("degraded responses", func() bool {
			status, h, err := n.Get("/", key)
			switch {
			case err != nil:
				t.Fatal(err)
			case status == 429: // the node remembers the denial for a second
				return false
			case status != 200:
				t.Fatalf("without Redis = %d, want 200", status)
			}
			return degraded(h)
		})
	}
	if warnings := strings.Count(n.Logged(), "the store does not answer"); warnings == 0 || warnings > 3 {
		t.Errorf("warnings = %d, want one for each outage at most:\n%s", warnings, n.Logged())
	}
}

// When Redis hangs, requests wait for the timeout, and no longer.
func TestRedisHangDelaysByTimeoutAtMost(t *testing.T) {
	redis := redistest.NewServer(t)
	n := nodetest.Start(t, nodetest.InRedis(redis.Addr, "timeout 50ms"), nodetest.UserSite("1000/24h"))
	n.Await("decisions by Redis", func() bool { return !degraded(n.MustGet(200, "/", "X-Api-Key: a")) })
	redis.Pause()
	defer redis.Resume()
	n.Await("the outage", func() bool { return degraded(n.MustGet(200, "/", "X-Api-Key: a")) })
	var longest time.Duration
	for range 40 {
		begin := time.Now()
		if h := n.MustGet(200, "/", "X-Api-Key: a"); !degraded(h) {
			t.Errorf("headers while Redis hangs = %v, want degraded ones", h)
		}
		longest = max(longest, time.Since(begin))
	}
	t.Logf("longest request with a timeout of 50 ms: %v", longest)
	if longest > 500*time.Millisecond { // room for a busy machine, but less than the wait without a timeout
		t.Errorf("longest request = %v, want about 50 ms", longest)
	}
}

// The node logs in with a password from the environment, and then with a wrong one. Neither password is in
// the log or in the metrics.
func TestPasswordsAreNotExposed(t *testing.T) {
	const right, wrong = "s3cret-right", "s3cret-wrong"
	redis := redistest.NewServer(t, "requirepass "+right)
	t.Setenv("REDIS_PASSWORD", right)
	options := func(password string) string {
		return nodetest.InRedis(redis.Addr, "password "+password)
	}
	n := nodetest.Start(t, options("{env.REDIS_PASSWORD}"), nodetest.UserSite("5/24h")+"\n\tlog")
	n.Await("decisions by Redis", func() bool { return !degraded(n.MustGet(200, "/", "X-Api-Key: a")) })
	n.Reload(options(wrong), nodetest.UserSite("5/24h")+"\n\tlog")
	n.Await("degraded responses, as Redis refuses the password", func() bool { return degraded(n.MustGet(200, "/", "X-Api-Key: b")) })
	n.Await("a warning", func() bool { return strings.Contains(n.Logged(), "WRONGPASS") })

	resp, err := n.Client.Get("http://" + n.Admin + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var metrics strings.Builder
	if err := resp.Write(&metrics); err != nil {
		t.Fatal(err)
	}
	for what, text := range map[string]string{"log": n.Logged(), "metrics": metrics.String()} {
		if strings.Contains(text, "s3cret") {
			t.Errorf("the %s has a password:\n%s", what, text)
		}
	}
}

// outageSites returns a handler for each outage mode, with a zone of the limit.
func outageSites(limit int) string {
	var b strings.Builder
	for _, mode := range []string{"local", "open", "closed"} {
		fmt.Fprintf(&b, "\trate_limit /%[1]s {\n\t\tzone %[1]s {\n\t\t\tkey {header.X-Api-Key}\n\t\t\tlimit %[2]d/24h\n"+
			"\t\t\talgorithm fixed_window\n\t\t\ton_outage %[1]s\n\t\t}\n\t}\n", mode, limit)
	}
	return b.String()
}

// Redis is killed under four nodes, and each zone is decided as its on_outage says. Where that is local, the
// nodes together admit no more than the limit at once. When Redis is back, it debits what they have admitted,
// which is not admitted again.
func TestOnOutage(t *testing.T) {
	const size, limit = 4, 40
	redis := redistest.NewServer(t)
	nodes := nodetest.StartAll(t, size, fmt.Sprintf("%s\nnodes %d", nodetest.InRedis(redis.Addr), size), outageSites(limit))
	for _, n := range nodes {
		n.Await("decisions by Redis", func() bool { return !degraded(n.MustGet(200, "/open", "X-Api-Key: first")) })
	}
	for range limit {
		nodes[0].MustGet(200, "/local", "X-Api-Key: known")
	}
	redis.Kill()
	for _, n := range nodes {
		n.Await("the outage", func() bool { return degraded(n.MustGet(200, "/open", "X-Api-Key: first")) })
	}
	counts := func(path, key string) map[int]int {
		byStatus := make(map[int]int)
		for _, n := range nodes {
			for range 2 * limit {
				status, h, err := n.Get(path, key)
				switch {
				case err != nil:
					t.Fatal(err)
				case !degraded(h):
					t.Errorf("GET %s = %d with %v, want it degraded", path, status, h)
				case status != 200 && (h.Get("Retry-After") == "" || h.Get("Cache-Control") != "no-store"):
					t.Errorf("GET %s = %d with %v, want Retry-After and Cache-Control", path, status, h)
				}
				byStatus[status]++
			}
		}
		return byStatus
	}
	if got := counts("/local", "X-Api-Key: fresh"); got[200] != limit || got[429] != 2*limit*size-limit {
		t.Errorf("local = %v, want %d admitted, the limit, and the others 429", got, limit)
	}
	if got := counts("/open", "X-Api-Key: fresh"); got[200] != 2*limit*size {
		t.Errorf("open = %v, want all admitted", got)
	}
	if got := counts("/closed", "X-Api-Key: fresh"); got[503] != 2*limit*size {
		t.Errorf("closed = %v, want 503 for all", got)
	}
	nodes[0].Await("the outage of a key that was used up", func() bool {
		status, h, err := nodes[0].Get("/local", "X-Api-Key: known")
		if err != nil || status != 429 {
			t.Fatalf("a key that was used up before = %d, %v, want 429", status, err)
		}
		return degraded(h) // otherwise the node remembers a denial of Redis
	})

	store := "redis standalone " + redis.Addr
	debt := func(n *nodetest.Node) float64 {
		return n.Metric(`caddy_rate_limit_outage_debt_events{store="` + store + `"}`)
	}
	for _, n := range nodes {
		if debt(n) == 0 {
			t.Error("no event of the outage is owed")
		}
	}
	redis.Restart() // Redis has lost all counts
	for _, n := range nodes {
		n.Await("the end of the outage", func() bool {
			_, h, err := n.Get("/open", "X-Api-Key: second") // this key may be used up by now
			return err == nil && !degraded(h)
		})
	}
	for _, n := range nodes {
		n.Await("the end of the debt", func() bool { return debt(n) == 0 })
		if settled := n.Metric(`caddy_rate_limit_outage_events_total{store="` + store + `",what="settled"}`); settled == 0 {
			t.Error("no event of the outage was debited")
		}
	}
	for _, n := range nodes {
		for _, path := range []string{"/local", "/open"} {
			if h := n.MustGet(429, path, "X-Api-Key: fresh"); degraded(h) {
				t.Errorf("GET %s after the outage = %v, want a decision by Redis", path, h)
			}
		}
	}
}
