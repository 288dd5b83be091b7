package integration

import (
	"net/http"
	"strings"
	"testing"
)

// TestPageInSites checks what is served below /rate_limit/ in a site that has the page, which only shows
// limits, and that nothing is served there in a site without the page.
func TestPageInSites(t *testing.T) {
	g := newGateway(t)
	g.mustLoad(g.caddyfile("", "route {\nrate_limit_page\n"+historyZone("3/1h")+"\n}", historyZone("3/1h")))
	g.get("/", "X-User: sk_live_4711").is(200)
	send := func(addr, method, path, body, from string) *reply {
		t.Helper()
		r, err := http.NewRequest(method, "http://"+addr+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Sec-Fetch-Site", from)
		r.Header.Set("Sec-Fetch-Mode", "cors")
		if body != "" {
			r.Header.Set("Content-Type", "application/json")
		}
		resp, err := g.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		return readReply(t, resp)
	}
	for _, c := range []struct {
		method, path, body string
		want               int // the status of a request from the page itself
	}{
		{"GET", "/rate_limit/", "", 200},
		{"GET", "/rate_limit/page/app.js", "", 200},
		{"GET", "/rate_limit/status", "", 200},
		{"GET", "/rate_limit/zones/user/top", "", 200},
		{"GET", "/rate_limit/overrides", "", 200},
		{"POST", "/rate_limit/zones/user/inspect", `{"key": "sk_live_4711"}`, 200},
		{"POST", "/rate_limit/history", `{"zone": "user"}`, 200},
		{"POST", "/rate_limit/explain", `{"uri": "/", "server": "srv0"}`, 200},
		{"POST", "/rate_limit/plan", `{}`, 403},
		{"POST", "/rate_limit/zones/user/reset", `{"key": "sk_live_4711"}`, 403},
		{"POST", "/rate_limit/overrides", `{"zone": "user", "key": "a", "limit": "9/1h"}`, 403},
		{"DELETE", "/rate_limit/overrides/a", "{}", 403},
		{"PATCH", "/rate_limit/rules", `{}`, 403},
		{"POST", "/rate_limit/rules/versions/0/rollback", `{}`, 403},
		{"POST", "/rate_limit/emergency", `{}`, 403},
		{"GET", "/rate_limit/decisions", "", 404},
	} {
		if got := send(g.addr, c.method, c.path, c.body, "same-origin"); got.status != c.want {
			t.Errorf("%s %s = %d %s, want %d", c.method, c.path, got.status, got.body, c.want)
		}
		if got := send(g.addr, c.method, c.path, c.body, "cross-site"); got.status != 403 && c.want != 404 {
			t.Errorf("%s %s of another site = %d %s, want 403", c.method, c.path, got.status, got.body)
		}
		if got := send(g.second, c.method, c.path, c.body, "same-origin"); got.body != "hello" && got.status != 429 {
			t.Errorf("%s %s of a site without the page = %d %.100s, want its own answer", c.method, c.path, got.status, got.body)
		}
	}
}
