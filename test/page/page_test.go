package page

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/fleetlimit/fleetlimit/test/nodetest"
)

var screenshots = flag.String("screenshots", "", "the directory that gets pictures of the page, for the documents")

// hostile is a key that is markup, reverses the text after it, and hides a space.
const hostile = `<img src=x onerror="window.hacked=1">` + "\u202e\u200bevil"

// An operator finds out why a key is rejected, gives it another limit, ends that, and changes their mind by a
// rollback. All nodes follow.
func TestOperatorHelpsCustomer(t *testing.T) {
	t.Parallel()
	nodes, _ := startFleet(t, 2)
	nodes[0].AwaitStatus(429, "sk_pro_7")
	b := open(t, newBrowser(t), "http://"+nodes[0].Addr+"/rate_limit/")
	b.awaitLive()
	b.awaitText(".health", "2\n")

	b.choose("Keys")
	b.fill("main form", "Zone", "user")
	b.awaitText(".scroll table", "sk_pro_7")
	b.click("td button.link", "sk_pro_7")
	b.awaitText(".key-detail", "0 of 10")
	b.awaitText(".key-detail .origins", "the configuration, zone")
	b.fill(".key-detail form", "Limit", "x2")
	b.fill(".key-detail form", "Why", "launch day")
	b.click(".key-detail button.primary", "Add override")
	b.awaitText("dialog .diff", "multiplier")
	b.awaitText("dialog", "On 2 nodes")
	b.fill("dialog", "Your name", "alice")
	b.confirm("Add override")
	for _, n := range nodes {
		n.AwaitStatus(http.StatusOK, "sk_pro_7")
	}
	b.awaitText(".key-detail", "× 2")
	b.awaitText(".key-detail", "by alice")
	b.awaitText(".timeline tr", "Override made")
	b.awaitText(".timeline tr", "alice")
	b.awaitText(".timeline .bad", "Rejected")
	nodes[0].AwaitStatus(429, "sk_pro_7")

	b.choose("Overrides")
	b.awaitText("td", "launch day")
	b.click("td button.quiet", "End")
	b.confirm("End it")
	b.awaitText("main", "There are none.")
	nodes[1].AwaitStatus(http.StatusTooManyRequests, "sk_pro_7")

	b.choose("Rules")
	b.awaitText("tr", "in force")
	b.click("td button.link", "2")
	b.awaitText(".diff", "overrides.")
	b.click("td button.quiet", "Roll back to 1")
	b.awaitText("dialog .diff .after", "launch day")
	b.confirm("Roll back")
	b.awaitText("td", "version 1") // the note of the rollback
	b.choose("Overrides")
	b.awaitText("td", "launch day")
}

// The overview says why the rules cannot be read, as long as they cannot.
func TestRulesCannotBeRead(t *testing.T) {
	t.Parallel()
	nodes, redis := startFleet(t, 1)
	b := open(t, newBrowser(t), "http://"+nodes[0].Addr+"/rate_limit/")
	b.awaitText(".health .ok", "Rules")
	redis.Kill()
	b.awaitText(".health .wrong", "the store cannot be reached: redis: ")
	b.await("a link to the runbook", `[...document.querySelectorAll(".health .wrong a")].some(a => a.href.endsWith("/docs/runbooks/redis-down.md"))`)
	b.checkAccess("the tiles in an outage")
	redis.Restart()
	b.awaitText(".health .ok", "Rules")
}

// Keys are bytes that clients choose. The page runs none of them, and hides none.
func TestHostileKey(t *testing.T) {
	t.Parallel()
	nodes, _ := startFleet(t, 1)
	nodes[0].AwaitStatus(429, hostile)
	b := open(t, newBrowser(t), "http://"+nodes[0].Addr+"/rate_limit/#keys")
	b.fill("main form", "Zone", "user")
	b.awaitText("td", "onerror")
	b.awaitText("td .code-point", "U+202E")
	b.awaitText("td .code-point", "U+200B")
	b.click("td button.link", "<img")
	b.awaitText("h2 .code-point", "U+202E")
	b.awaitText(".key-detail", "0 of 10")
	if hacked := b.eval("window.hacked === undefined && document.querySelectorAll('main img').length === 0"); hacked != true {
		t.Error("the markup of a key is in the page")
	}
}

// While Redis hangs, the page says so. When Caddy has reloaded, both of two tabs connect again. While Caddy
// does not answer, no figure is shown as live.
func TestWhatIsWrong(t *testing.T) {
	t.Parallel()
	nodes, redis := startFleet(t, 1)
	n, browser := nodes[0], newBrowser(t)
	tabs := []*tab{open(t, browser, "http://"+n.Addr+"/rate_limit/"), open(t, browser, "http://"+n.Addr+"/rate_limit/#fleet")}
	for _, b := range tabs {
		b.awaitLive()
	}
	traffic(t, nodes)
	redis.Pause()
	tabs[0].awaitText(".health .wrong", "degraded")
	tabs[0].awaitText(".health .wrong", redis.Addr)
	tabs[1].awaitText("td.bad", "open")
	redis.Resume()
	tabs[0].awaitText(".health .ok", "in Redis")

	n.Reload(redisOptions(redis), site("20/1h"))
	for _, b := range tabs {
		b.awaitLive()
	}
	tabs[1].choose("Keys")
	tabs[1].fill("main form", "Zone", "user")
	tabs[1].fill("main form", "Key", "a")
	tabs[1].click("main form button", "Inspect")
	tabs[1].awaitText(".key-detail", "20/1h")

	n.Pause()
	tabs[0].awaitText(".lost", "connection is lost")
	if figures := tabs[0].eval(`[...document.querySelectorAll("main td.n, main .health strong")].map(e => e.innerText).filter(s => s !== "–").join()`); figures != "" {
		t.Errorf("figures while the connection is lost = %v, want none", figures)
	}
	n.Resume()
	tabs[0].awaitLive()
}

// Each part of the page has no serious fault of accessibility, in light and in dark, and fits the width of a
// telephone.
func TestParts(t *testing.T) {
	t.Parallel()
	nodes, _ := startFleet(t, 3)
	traffic(t, nodes)
	b := open(t, newBrowser(t), "http://"+nodes[0].Addr+"/rate_limit/")
	b.awaitLive()
	b.choose("Overrides")
	b.fill("main form", "Zone", "user")
	b.fill("main form", "Key", "sk_pro_7")
	b.fill("main form", "Limit", "5000/1m")
	b.fill("main form", "Why", "launch day")
	b.click("main form button", "Add override")
	b.confirm("Add override")
	for _, part := range []string{"Overview", "Keys", "Explain", "Overrides", "Rules", "Fleet", "Emergency"} {
		b.choose(part)
		switch part {
		case "Overview":
			b.click(".chart button", "Table")
			b.awaitText("td.bad", ".")
		case "Keys":
			b.fill("main form", "Zone", "user")
			b.awaitText("td", "sk_pro_7")
			b.click("td button.link", "sk_pro_7")
			b.awaitText(".key-detail", "Left")
			b.awaitText(".timeline", "Override made")
		case "Explain":
			b.explain("/", "X-Api-Key: sk_pro_7")
		case "Rules":
			b.awaitText("td", "launch day")
		}
		for _, dark := range []bool{false, true} {
			b.dark(dark)
			for _, width := range []int64{1440, 375} {
				b.size(width, 900)
				where := fmt.Sprintf("%s, dark %v, %d pixels", part, dark, width)
				b.checkWidth(where)
				if dark == (width == 375) { // axe has separate rules for colors and for sizes
					b.checkAccess(where)
				}
				b.picture(part, dark, width)
			}
		}
	}
}

// The page answers nothing to a page of another origin, and changes nothing in a site that does not allow it.
func TestPageOfAnotherOrigin(t *testing.T) {
	t.Parallel()
	nodes, _ := startFleet(t, 2)
	b := open(t, newBrowser(t), "http://"+nodes[1].Addr+"/elsewhere")
	for _, request := range []string{
		`fetch("http://%s/rate_limit/status")`, `fetch("http://%s/rate_limit/live")`, `fetch("http://%s/rate_limit/page/app.js", {mode: "no-cors"})`,
		`fetch("http://%s/rate_limit/overrides", {method: "POST", body: "{}", mode: "no-cors"})`,
	} {
		got := b.eval(fmt.Sprintf("("+request+").then(r => r.type === 'opaque' ? 'opaque ' + r.status : r.text(), () => 'refused')", nodes[0].Addr))
		if got != "refused" && got != "opaque 0" {
			t.Errorf("%s = %v", request, got)
		}
	}
	if log := nodes[0].Logged(); strings.Contains(log, `"overrides"`) {
		t.Errorf("the log has a change: %s", log)
	}
}

// Caddy's admin endpoint refuses the requests of a browser in which somebody enters its address. The command
// `caddy rate-limit page` still serves the page, to those who have the secret.
func TestPageOfAdminEndpoint(t *testing.T) {
	t.Parallel()
	nodes, _ := startFleet(t, 1)
	command := exec.Command(nodes[0].Binary, "rate-limit", "page", "--address", nodes[0].Admin)
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Signal(os.Interrupt)
		if err := command.Wait(); err != nil {
			t.Errorf("the interrupted command ends with %v, want 0", err)
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	address := strings.TrimSpace(line)
	b := open(t, newBrowser(t), address)
	b.awaitLive()
	b.choose("Emergency")
	b.click("main button", "Switch on")
	b.confirm("Switch on")
	b.awaitText("h2", "Emergency mode is on")
	b.choose("Overview")
	b.awaitText(".health .wrong", "10/1s for each address")
	base, _, _ := strings.Cut(strings.TrimPrefix(address, "http://"), "/")
	resp, err := http.Get("http://" + base + "/rate_limit/status")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusNotFound {
		t.Errorf("a request without the secret = %s, want 404", resp.Status)
	}
}

// traffic sends requests of some keys to nodes until the test ends.
func traffic(t *testing.T, nodes []*nodetest.Node) {
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for i := 0; ctx.Err() == nil; i++ {
			keys := []string{"sk_pro_7", "sk_free_1", "sk_free_2", "sk_pro_" + fmt.Sprint(i%40)}
			_, _, _ = nodes[i%len(nodes)].Get("/", "X-Api-Key: "+keys[i%len(keys)])
			time.Sleep(5 * time.Millisecond)
		}
	}()
	t.Cleanup(func() {
		stop()
		<-ended
	})
}

// picture takes one of the pictures for the documentation, if a flag says where to put it.
func (b *tab) picture(part string, dark bool, width int64) {
	name := map[string]string{
		"Overview false 1440": "page-overview.png", "Keys true 1440": "page-key.png", "Explain false 1440": "page-explain.png", "Overview true 375": "page-phone.png",
	}[fmt.Sprint(part, " ", dark, " ", width)]
	if *screenshots == "" || name == "" {
		return
	}
	if part == "Overview" {
		b.click(".chart button", "Table") // back to the chart
		defer b.click(".chart button", "Table")
		time.Sleep(8 * time.Second) // until the charts show something
	}
	picture := run(b, chromedp.CaptureScreenshot())
	if err := os.WriteFile(filepath.Join(*screenshots, name), picture, 0o600); err != nil {
		b.t.Fatal(err)
	}
}
