package page

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/fleetlimit/fleetlimit/test/nodetest"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// onScreen is a function that reports whether an element is within the window from left to right.
const onScreen = `(e => { const r = e.getBoundingClientRect(); return r.width > 0 && r.left >= 0 && r.right <= innerWidth; })`

// An operator with a phone ends an override: its button is on the screen, words are whole, and the
// dialog names the key and the limit.
func TestOperatorWithPhone(t *testing.T) {
	t.Parallel()
	nodes, _ := startFleet(t, 1)
	nodes[0].AwaitStatus(429, "sk_pro_7")
	b := open(t, newBrowser(t), "http://"+nodes[0].Addr+"/rate_limit/")
	b.size(375, 1500)
	b.awaitLive()
	b.choose("Overrides")
	b.fill("main form", "Zone", "user")
	b.fill("main form", "Key", "sk_pro_7")
	b.fill("main form", "Limit", "20/1h")
	b.fill("main form", "Ends in", "24h")
	b.fill("main form", "Why", "misunderstanding of contractual obligations")
	b.click("main form button.primary", "Add override")
	b.confirm("Add override")
	b.awaitText("td", "misunderstanding")
	b.awaitText("td", "in 24 h")
	if on := b.eval(onScreen + `([...document.querySelectorAll("td button")].find(e => e.innerText === "End"))`); on != true {
		t.Error("the button that ends the override is not on the screen")
	}
	if broken := b.eval(brokenWords); broken != "" {
		t.Errorf("words that do not fit into their cells: %v", broken)
	}
	b.checkWidth("the overrides")
	b.click("td button.link", "sk_pro_7")
	b.awaitText(".key-detail", "of 20")
	b.checkWidth("the key")
	b.choose("Overrides")
	b.click("td button.quiet", "End")
	b.awaitText("dialog h2", "End the override 20/1h of sk_pro_7 in zone user?")
	b.confirm("End it")
}

// brokenWords returns the words in cells that take more than one line.
const brokenWords = `[...document.querySelectorAll("td *, td")].flatMap(e => [...e.childNodes]).filter(n => n.nodeType === 3)
	.flatMap(n => [...n.data.matchAll(/\S+/g)].filter(m => {
		const range = document.createRange();
		range.setStart(n, m.index);
		range.setEnd(n, m.index + m[0].length);
		return new Set([...range.getClientRects()].map(r => r.top)).size > 1;
	}).map(m => m[0])).join(" ")`

// For a key at its limit, used-up counts are red, and the instant of the next try is never in the past. A
// window that is used up many times over shows a time, not thousands of percent.
func TestKeyAtItsLimit(t *testing.T) {
	t.Parallel()
	nodes, _ := startFleet(t, 1)
	nodes[0].AwaitStatus(429, "sk_pro_7")
	b := open(t, newBrowser(t), "http://"+nodes[0].Addr+"/rate_limit/#keys")
	b.fill("main form", "Zone", "user")
	b.awaitText("td", "all in")
	b.click("td button.link", "sk_pro_7")
	b.awaitText(".key-detail", "0 of 10")
	if red := b.eval(`(m => m.value > m.high && m.optimum < m.low)(document.querySelector("meter"))`); red != true {
		t.Error("the bar of a key at its limit looks as if all were well")
	}
	if text := b.eval(`document.querySelector("main").innerText`).(string); strings.Contains(text, "ago\nFull") {
		t.Errorf("a retry is in the past:\n%s", text)
	}
	b.choose("Overview")
	for _, width := range []int64{1100, 800} {
		b.size(width, 1000)
		b.await("charts beside each other", `(p => p.length === 2 && p[0] === p[1])([...document.querySelectorAll(".chart > [role=img]")].map(e => e.getBoundingClientRect().top))`)
	}
}

// One request holds the only place. The next one would wait, and explaining it counts nothing. While a
// request does wait, the overview says so.
func TestExplainWaitForPlace(t *testing.T) {
	t.Parallel()
	entered, leave := make(chan struct{}, 2), make(chan struct{})
	upstream := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		entered <- struct{}{}
		<-leave
	}))
	t.Cleanup(upstream.Close)
	n := nodetest.StartAll(t, 1, redisOptions(redistest.NewServer(t)), fmt.Sprintf("route {\nrate_limit_page {\nallow_changes\n}\nrate_limit {\nlog_key\n"+
		"zone user {\nkey {http.request.header.X-Api-Key}\nconcurrent 1\nwait 50s\n}\n}\nreverse_proxy %s\n}", strings.TrimPrefix(upstream.URL, "http://")))[0]
	get := func() { _, _, _ = n.Get("/slow", "X-Api-Key: a") }
	t.Cleanup(func() { close(leave) })
	go get()
	<-entered
	b := open(t, newBrowser(t), "http://"+n.Addr+"/rate_limit/#explain")
	b.awaitLive()
	b.explain("/slow", "X-Api-Key: a")
	b.awaitText(".explained", "queued by concurrent 1, for at most")
	go get()
	b.choose("Overview")
	b.await("a request that waits", `[...document.querySelectorAll("#zones-title")].length && [...document.querySelectorAll("tbody tr")].some(r => r.innerText.startsWith("user") && r.lastElementChild.innerText === "1")`)
}
