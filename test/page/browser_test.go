// Package page drives the operator's page in Chromium, in front of a real fleet. The package is a module of
// its own, so that users of the plugin do not inherit what drives the browser.
package page

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/fleetlimit/fleetlimit/test/nodetest"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

func TestMain(m *testing.M) { nodetest.Main(m) }

// axe is a script that looks for faults of accessibility.
//
//go:embed axe/axe.min.js
var axe string

// newBrowser starts Chromium for a test.
func newBrowser(t *testing.T) context.Context {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.DisableGPU)
	allocator, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancel)
	browser, end := chromedp.NewContext(allocator)
	t.Cleanup(end)
	if err := chromedp.Do(browser); err != nil {
		t.Fatalf("starting Chromium: %v; make need-chromium installs it", err)
	}
	return browser
}

// A tab is a tab of a browser.
type tab struct {
	t   *testing.T
	ctx context.Context
	url string
}

// record makes a page remember what goes wrong in it.
const record = `window.faults = [];
addEventListener("error", (e) => faults.push(e.message));
addEventListener("unhandledrejection", (e) => faults.push(String(e.reason)));
addEventListener("securitypolicyviolation", (e) => faults.push("the policy forbids " + e.violatedDirective + " " + e.blockedURI));`

// open opens a URL in a new tab. An error of the page's scripts, or a violation of its policy, fails the
// test.
func open(t *testing.T, browser context.Context, url string) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(browser)
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	b := &tab{t, ctx, url}
	call(b, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: record})
	// A page in a hidden tab closes its stream.
	call(b, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
	run(b, chromedp.Navigate(url))
	t.Cleanup(func() {
		if t.Failed() {
			return
		}
		if faults := b.eval("faults.join()"); faults != "" {
			t.Errorf("%s: %v", url, faults)
		}
	})
	return b
}

// run runs an action in a tab.
func run[T any](b *tab, action chromedp.Action[T]) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, time.Minute)
	defer cancel()
	value, err := chromedp.Run(ctx, action)
	if err != nil {
		b.t.Fatalf("%s: %v", b.url, err)
	}
	return value
}

// call sends a command to a tab.
func call[P, R any](b *tab, command cdp.Command[P, R], params P) {
	b.t.Helper()
	if _, err := chromedp.Call(b.ctx, command, params); err != nil {
		b.t.Fatalf("%s: %v", b.url, err)
	}
}

// eval returns the value of an expression.
func (b *tab) eval(expression string) any {
	b.t.Helper()
	return run(b, chromedp.Evaluate[any](expression, chromedp.EvalAwaitPromise))
}

// await waits until an expression is true.
func (b *tab) await(what, expression string) {
	b.t.Helper()
	deadline := time.Now().Add(time.Minute)
	for b.eval("Boolean("+expression+")") != true {
		if time.Now().After(deadline) {
			b.t.Fatalf("waited for %s; the page says\n%v", what, b.eval("document.body.innerText"))
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// awaitText waits until an element contains a text.
func (b *tab) awaitText(selector, text string) {
	b.t.Helper()
	b.await(fmt.Sprintf("%q in %s", text, selector),
		fmt.Sprintf(`[...document.querySelectorAll(%s)].some(e => e.innerText.includes(%s))`, quote(selector), quote(text)))
}

func (b *tab) awaitLive() { b.t.Helper(); b.awaitText(".connection", "live") }

// click waits for the first element whose text begins with text, and clicks it.
func (b *tab) click(selector, text string) {
	b.t.Helper()
	find := fmt.Sprintf(`[...document.querySelectorAll(%s)].find(e => e.innerText.trim().startsWith(%s) && !e.disabled)`, quote(selector), quote(text))
	b.await(fmt.Sprintf("%s %q", selector, text), find)
	b.eval(find + ".click()")
}

// choose shows a part of the page.
func (b *tab) choose(part string) {
	b.t.Helper()
	b.click("nav a", part)
	b.awaitText("nav a[aria-current]", part)
}

// fill writes a value into the field with a label.
func (b *tab) fill(form, label, value string) {
	b.t.Helper()
	find := fmt.Sprintf(`[...document.querySelectorAll(%s + " label")].find(e => e.innerText.trim().startsWith(%s))`, quote(form), quote(label))
	b.await("the field "+label, fmt.Sprintf(`(field => field && (field.tagName !== "SELECT" || [...field.options].some(o => o.value === %s)))(%s?.querySelector("input, select, textarea"))`, quote(value), find))
	b.eval(fmt.Sprintf(`(() => {
		const field = %s.querySelector("input, select, textarea");
		field.value = %s;
		field.dispatchEvent(new Event(field.tagName === "SELECT" ? "change" : "input", { bubbles: true }));
	})()`, find, quote(value)))
}

// confirm presses the button of the dialog.
func (b *tab) confirm(button string) {
	b.t.Helper()
	b.click("dialog button.primary", button)
	b.await("the end of the dialog", `!document.querySelector("dialog")`)
}

// size sets the size of the window.
func (b *tab) size(width, height int64) {
	b.t.Helper()
	run(b, chromedp.EmulateViewport(width, height))
}

// dark chooses the scheme of the colors.
func (b *tab) dark(on bool) {
	scheme := map[bool]string{true: "dark", false: "light"}[on]
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
}

// checkAccess fails the test if axe finds a serious fault.
func (b *tab) checkAccess(where string) {
	b.t.Helper()
	if b.eval("typeof axe") != "object" {
		b.eval(axe + "; 0")
	}
	faults := b.eval(`axe.run({resultTypes: ["violations"]}).then(r => r.violations
		.filter(v => v.impact === "serious" || v.impact === "critical")
		.map(v => v.id + ": " + v.help + ": " + v.nodes.slice(0, 3).map(n => n.html + " " + n.any.map(a => a.message)).join(" | ")).join("\n"))`)
	if faults != "" {
		b.t.Errorf("%s: axe finds\n%v", where, faults)
	}
}

// checkWidth fails the test if the page is wider than its window.
func (b *tab) checkWidth(where string) {
	b.t.Helper()
	const wider = "document.documentElement.scrollWidth - innerWidth"
	for range 40 { // charts follow the width of the window a little later
		if b.eval(wider).(float64) <= 0 {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	if wide := b.eval(wider).(float64); wide > 0 {
		widest := b.eval(`[...document.querySelectorAll("body *")].filter(e => !e.closest(".scroll > *") && e.getBoundingClientRect().right > innerWidth).map(e => e.outerHTML.slice(0, 80)).slice(0, 3).join("\n")`)
		b.t.Errorf("%s: the page is %v pixels wider than the window:\n%v", where, wide, widest)
	}
}

func quote(text string) string {
	quoted, _ := json.Marshal(text)
	return string(quoted)
}

// startFleet starts nodes that share a Redis. Each has the page in front of its limits.
func startFleet(t *testing.T, size int) ([]*nodetest.Node, *redistest.Server) {
	t.Helper()
	redis := redistest.NewServer(t)
	return nodetest.StartAll(t, size, redisOptions(redis), site("10/1h")), redis
}

func redisOptions(redis *redistest.Server) string {
	return nodetest.InRedis(redis.Addr) + "\nbreaker {\n\tprobe_every 100ms\n}"
}

// site returns a site with a page that may change rules, and a zone by API key with a limit.
func site(limit string) string { return siteWith("log_key", limit) }

// siteWith returns a site with a page that may change rules, and a zone whose keys are secrets unless
// settings has log_key.
func siteWith(settings, limit string) string {
	return "route {\nrate_limit_page {\nallow_changes\n}\nrate_limit {\n" + settings + "\nzone user {\nkey {http.request.header.X-Api-Key}\nlimit " +
		limit + "\n}\nzone address {\nkey {client_ip}\nlimit 100000/1s\n}\n}\n}"
}
