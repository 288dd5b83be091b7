package fleet

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/test/nodetest"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

const drainLine = "Caddy shuts down: health checks get 503"

// drainSite has a limit far above the load, and answers health checks.
const drainSite = "\trate_limit_health /live live\n\trate_limit_health /serving serving\n\trate_limit_health /ready\n" +
	"\trate_limit {\n\t\tzone user {\n\t\t\tkey {header.X-Api-Key}\n\t\t\tlimit 1000000/24h\n\t\t\talgorithm fixed_window\n\t\t}\n\t}"

// A node serves and counts requests while Caddy shuts down, and health checks say so. The node takes no lease
// meanwhile, and returns the leases that it has.
func TestNodeDrains(t *testing.T) {
	t.Parallel()
	redis := redistest.NewServer(t)
	n := nodetest.Start(t, nodetest.InRedis(redis.Addr, "timeout 5s"), drainSite)
	granted := func() float64 {
		return n.Metric(fmt.Sprintf("caddy_rate_limit_lease_events_total{store=%q,what=%q}", "redis standalone "+redis.Addr, "granted"))
	}
	admitted := 0
	request := func() {
		n.MustGet(200, "/", "X-Api-Key: a")
		admitted++
	}
	n.Await("leases", func() bool {
		request()
		return granted() > 0
	})
	for _, probe := range []string{"/live", "/serving", "/ready"} {
		n.MustGet(200, probe)
	}
	n.Terminate()
	n.Await("a 503", func() bool {
		status, _, err := n.Get("/serving")
		return err == nil && status == 503
	})
	n.MustGet(200, "/live")
	for _, address := range []string{n.Addr + "/ready", n.Admin + "/rate_limit/health/ready", n.Admin + "/rate_limit/health/serving"} {
		resp, err := n.Client.Get("http://" + address)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode != 503 || !strings.HasPrefix(string(body), `{"status":"draining"`) {
			t.Errorf("%s while the node drains = %d %s, want 503 and draining", address, resp.StatusCode, body)
		}
	}
	request() // a lease request may have been under way
	before := granted()
	for range 200 {
		request()
	}
	if after := granted(); after != before {
		t.Errorf("events leased while the node drains = %v, want none", after-before)
	}
	n.AwaitExit()
	if lines := strings.Count(n.Logged(), drainLine); lines != 1 {
		t.Errorf("%d lines about the drain, want one:\n%s", lines, n.Logged())
	}
	n.Restart()
	h := n.MustGet(200, "/", "X-Api-Key: a")
	if got, want := h.Get("X-RateLimit-Remaining"), strconv.Itoa(1_000_000-admitted-1); got != want {
		t.Errorf("remaining after a restart = %s, want %s: all leases are returned", got, want)
	}
}

// A fleet behind a load balancer is upgraded node by node under load. No request fails, and each
// admitted request is counted once.
func TestRollingUpgrade(t *testing.T) {
	t.Parallel()
	nodes := nodetest.StartAll(t, 3, nodetest.InRedis(redistest.NewServer(t).Addr, "timeout 5s"), drainSite)
	balancer := startBalancer(t, nodes)
	var admitted, failed atomic.Int64
	end := load(balancer.Addr, &admitted, &failed)
	for _, n := range nodes {
		n.Terminate()
		n.AwaitExit()
		n.Restart()
		awaitHealthy(balancer, n)
	}
	end()
	t.Logf("%d requests, of which %d failed", admitted.Load()+failed.Load(), failed.Load())
	if failed.Load() > 0 || admitted.Load() < 300 {
		t.Errorf("requests: %d admitted, %d failed; want hundreds, and none", admitted.Load(), failed.Load())
	}
	for _, n := range nodes {
		n.Terminate()
	}
	for _, n := range nodes {
		n.AwaitExit()
	}
	nodes[0].Restart()
	h := nodes[0].MustGet(200, "/", "X-Api-Key: a")
	if got, want := h.Get("X-RateLimit-Remaining"), strconv.FormatInt(1_000_000-admitted.Load()-1, 10); got != want {
		t.Errorf("remaining after %d requests = %s, want %s", admitted.Load(), got, want)
	}
}

// startBalancer starts a Caddy that checks which nodes serve, and proxies to those.
func startBalancer(t *testing.T, nodes []*nodetest.Node) *nodetest.Node {
	t.Helper()
	var upstreams []string
	for _, n := range nodes {
		upstreams = append(upstreams, n.Addr)
	}
	balancer := nodetest.Start(t, "defaults {\n\tmode lease\n}", "\thandle {\n\t\treverse_proxy "+strings.Join(upstreams, " ")+
		" {\n\t\t\thealth_uri /serving\n\t\t\thealth_interval 100ms\n\t\t\thealth_timeout 5s\n\t\t\tlb_policy round_robin\n\t\t}\n\t}")
	for _, n := range nodes {
		awaitHealthy(balancer, n)
	}
	return balancer
}

// awaitHealthy waits until the load balancer sends requests to n.
func awaitHealthy(balancer, n *nodetest.Node) {
	series := fmt.Sprintf("caddy_reverse_proxy_upstreams_healthy{upstream=%q}", n.Addr)
	n.Await("requests by the load balancer", func() bool { return balancer.Metric(series) == 1 })
}

// load sends requests that no proxy repeats, until end is called.
func load(addr string, admitted, failed *atomic.Int64) (end func()) {
	client := &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 10}}
	stop := make(chan struct{})
	var senders sync.WaitGroup
	for range 4 {
		senders.Go(func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(5 * time.Millisecond):
				}
				req, _ := http.NewRequest(http.MethodPost, "http://"+addr+"/", strings.NewReader("a body"))
				req.Header.Set("X-Api-Key", "a")
				resp, err := client.Do(req)
				if err != nil {
					failed.Add(1)
					continue
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
				if resp.StatusCode == http.StatusOK {
					admitted.Add(1)
				} else {
					failed.Add(1)
				}
			}
		})
	}
	return func() {
		close(stop)
		senders.Wait()
		client.CloseIdleConnections()
	}
}
