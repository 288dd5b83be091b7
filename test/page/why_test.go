package page

import (
	"net/http"
	"strings"
	"testing"

	"github.com/fleetlimit/fleetlimit/test/nodetest"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// explain asks what would happen to a request.
func (b *tab) explain(path, headers string) {
	b.t.Helper()
	b.fill("main form", "Path", path)
	b.fill("main form", "Headers", headers)
	b.click("main form button", "Explain")
	b.awaitText("#found-title", "It gets")
}

// Three interactions lead from a customer's complaint to the cause and the remedy: a key in the
// list, which is shown shortened, the form, and the dialog. The page never shows the key.
func TestSecretKeyInThreeInteractions(t *testing.T) {
	t.Parallel()
	redis := redistest.NewServer(t)
	n := nodetest.StartAll(t, 1, redisOptions(redis), siteWith("", "10/1h"))[0]
	const key = "sk_live_4711_0815"
	n.AwaitStatus(429, key)
	b := open(t, newBrowser(t), "http://"+n.Addr+"/rate_limit/#keys")
	b.awaitLive()
	b.fill("main form", "Zone", "user")
	b.awaitText("td", "sk_l…")

	b.click("td button.link", "sk_l…") // 1
	b.awaitText(".key-detail", "0 of 10")
	b.awaitText(".key-detail .origins", "the configuration, zone")
	b.awaitText(".timeline .bad", "Rejected")
	if text := b.eval("document.documentElement.outerHTML").(string); strings.Contains(text, key) {
		t.Error("the page has the key, which may be a secret")
	}

	b.fill(".key-detail form", "Limit", "x2")
	b.fill(".key-detail form", "Ends in", "1h")
	b.click(".key-detail button.primary", "Add override") // 2
	b.awaitText("dialog .diff", "multiplier")
	b.confirm("Add override") // 3
	n.AwaitStatus(http.StatusOK, key)
	b.awaitText(".key-detail", "× 2")
	b.awaitText(".timeline tr", "Override made")

	b.click(".key-detail button", "Reset counts")
	b.confirm("Reset")
	b.awaitText(".timeline tr", "Counts reset")
	b.choose("Rules")
	b.awaitText("td.text", "reset of stored ")
}

// The key_hash of a line in the log leads to the key.
func TestHashOfLog(t *testing.T) {
	t.Parallel()
	redis := redistest.NewServer(t)
	n := nodetest.StartAll(t, 1, redisOptions(redis), siteWith("", "10/1h"))[0]
	n.AwaitStatus(429, "sk_live_4711_0815")
	_, hash, found := strings.Cut(n.Logged(), `"key_hash":"`)
	if !found {
		t.Fatalf("the log has no hash of a key: %s", n.Logged())
	}
	b := open(t, newBrowser(t), "http://"+n.Addr+"/rate_limit/#keys")
	b.fill("main form", "Zone", "user")
	b.fill("main form", "Key", "#"+hash[:12])
	b.click("main form button", "Inspect")
	b.awaitText(".key-detail h2", "sk_l… "+hash[:12]+" in zone user")
	b.awaitText(".key-detail", "0 of 10")
}

// The form explains why a request is rejected, and leads to the key of the request. It takes
// nothing.
func TestExplainForm(t *testing.T) {
	t.Parallel()
	redis := redistest.NewServer(t)
	nodes := nodetest.StartAll(t, 1, redisOptions(redis), site("10/1h\nreject_header X-Support https://example.com"))
	nodes[0].AwaitStatus(429, "sk_pro_7")
	b := open(t, newBrowser(t), "http://"+nodes[0].Addr+"/rate_limit/#explain")
	b.awaitLive()
	b.explain("/export", "X-Api-Key: sk_pro_7")
	b.awaitText("#found-title", "429")
	b.awaitText(".explained .wrong", "rejected")
	b.awaitText(".explained .wrong", "If rejected: reject_header X-Support: https://example.com")
	b.awaitText(".explained .origins", "the configuration, zone")
	b.awaitText(".explained .ok", "address")
	b.checkAccess("an explained request")
	b.explain("/export", "X-Api-Key: "+hostile)
	b.awaitText(".explained .code-point", "U+202E")
	b.explain("/export", "X-Api-Key: sk_free_1")
	b.awaitText(".explained", "of which 10 are left")
	b.fill("main form", "Headers", "no header")
	b.click("main form button", "Explain")
	b.awaitText(".error", `has no ":"`)
	b.explain("/export", "X-Api-Key: sk_pro_7")
	b.click(".explained button.link", "sk_pro_7")
	b.awaitText(".key-detail", "0 of 10")
}

// A primary of a cluster dies. The page of each of three nodes says which primary that is, and when
// its replica has taken over.
func TestPrimaryDies(t *testing.T) {
	t.Parallel()
	cluster := redistest.NewCluster(t)
	nodes := nodetest.StartAll(t, 3, "redis cluster {\n\taddress "+strings.Join(cluster.Addrs, " ")+"\n}\nbreaker {\n\tprobe_every 100ms\n}",
		site("1000/1h"))
	traffic(t, nodes)
	browser := newBrowser(t)
	first, last := open(t, browser, "http://"+nodes[0].Addr+"/rate_limit/#fleet"), open(t, browser, "http://"+nodes[2].Addr+"/rate_limit/")
	first.awaitText("main", "3 nodes")
	first.await("three primaries", `document.querySelectorAll("#redis-title ~ .scroll tbody tr").length === 3`)
	last.awaitText(".health .ok", "in Redis")
	dead := cluster.Primary("any")
	dead.Kill()
	first.await("the open breaker of "+dead.Addr,
		`[...document.querySelectorAll("tr")].some(r => r.innerText.includes("`+dead.Addr+`") && r.querySelector("td.bad")?.innerText === "open")`)
	first.await("the dead primary in the first row", `document.querySelector("#redis-title ~ .scroll tbody tr").innerText.includes("`+dead.Addr+`")`)
	last.awaitText(".health .wrong", "degraded")
	last.awaitText(".health .ok", "in Redis") // its replica has taken over
	first.await("no open breaker", `document.querySelectorAll("#redis-title ~ .scroll td.bad").length === 0`)
}

// The page's own requests are in no decision and no metric. In the access log, only its changes
// are.
func TestPageLeavesNoTrace(t *testing.T) {
	t.Parallel()
	n := nodetest.StartAll(t, 1, redisOptions(redistest.NewServer(t)), "log\n"+site("10/1h"))[0]
	b := open(t, newBrowser(t), "http://"+n.Addr+"/rate_limit/")
	b.awaitLive()
	for _, part := range []string{"Keys", "Explain", "Overrides", "Rules", "Fleet", "Emergency", "Overview"} {
		b.choose(part)
	}
	b.awaitText(".health", "in Redis")
	status, _, err := n.Get("/counted", "X-Api-Key: a") // so that there are lines and counts
	if err != nil || status != http.StatusOK {
		t.Fatalf("a request = %d, %v", status, err)
	}
	n.Await("the line of a request", func() bool { return strings.Contains(n.Logged(), `"uri":"/counted"`) })
	if log := n.Logged(); strings.Contains(log, `"uri":"/rate_limit/`) {
		t.Errorf("the log has requests of the page: %s", log)
	}
	if got := n.Metric(`caddy_rate_limit_decisions_total`); got != 2 {
		t.Errorf("decisions = %v, want those of one request in two zones", got)
	}
	b.choose("Keys")
	b.fill("main form", "Zone", "address")
	b.awaitText("main", "127.0.0.1")
	if keys := b.eval(`document.querySelectorAll("#top-title ~ .scroll tbody tr").length`); keys != 1.0 {
		t.Errorf("keys of zone address = %v, want 1", keys)
	}
}
