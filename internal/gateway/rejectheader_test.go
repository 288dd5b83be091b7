package gateway

import (
	"net/http"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// TestRejectHeaders has a zone add its headers to every rejection by the zone, in all forms, and to
// no other response.
func TestRejectHeaders(t *testing.T) {
	closed := limiter.Decision{Source: limiter.FromOutage, At: 10_000_000, Limit: 5, RetryAt: 12_500_000, ResetAt: 12_500_000}
	for _, tc := range []struct {
		name, handler, zone string
		store               scriptedStore
		status              int // of the response, or of the error
		want                string
	}{
		{"json", `"reject": "json"`, `"limit": "5/1m"`, scriptedStore{decision: deniedForDay}, 429, "help/user"},
		{"problem", `"reject": "problem"`, `"limit": "5/1m"`, scriptedStore{decision: deniedForDay}, 429, "help/user"},
		{"error route", `"reject": "error"`, `"limit": "5/1m"`, scriptedStore{decision: deniedForDay}, 429, "help/user"},
		{"no headers", `"headers": "none"`, `"limit": "5/1m"`, scriptedStore{decision: deniedForDay}, 429, "help/user"},
		{"block", `"reject": "json"`, `"limit": "block"`, scriptedStore{}, 429, "help/user"},
		{"caddy-ratelimit", `"jitter": 0`, `"max_events": 5, "window": "1m"`, scriptedStore{decision: deniedForDay}, 429, "help/user"},
		{"closed", `"reject": "json"`, `"limit": "5/1m", "on_outage": "closed"`, scriptedStore{decision: closed, err: errStore}, 503, "help/user"},
		{"denied key", `"reject": "json"`, `"limit": "5/1m", "deny_keys": ["alice"]`, scriptedStore{}, 403, "help/user"},
		{"denied address", `"deny": ["192.0.2.1"]`, `"limit": "5/1m"`, scriptedStore{}, 403, ""},
		{"admitted", `"reject": "json"`, `"limit": "5/1m"`, scriptedStore{decision: limiter.Decision{OK: true}}, 200, ""},
		{"dry run", `"reject": "json"`, `"limit": "5/1m", "dry_run": 1`, scriptedStore{decision: deniedForDay}, 200, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h, _ := scripted(t, `{`+tc.handler+`, "rate_limits": {"user": {"key": "{http.request.header.X-Api-Key}", `+tc.zone+`,
				"reject_headers": {"x-support": ["help/{http.rate_limit.exceeded.name}"]}}}}`, &tc.store)
			got := serve(t, h, t.Context(), nil)
			if err, failed := got.err.(caddyhttp.HandlerError); failed {
				got.status = err.StatusCode
			}
			if support := got.header.Get("X-Support"); got.status != tc.status || support != tc.want {
				t.Errorf("status = %d, X-Support = %q, want %d and %q", got.status, support, tc.status, tc.want)
			}
		})
	}
}

// If another zone of the handler rejects the request, the response has the headers of that zone, or
// none.
func TestRejectHeadersOfOtherZones(t *testing.T) {
	const zones = `{"log_rejections": "none", "rate_limits": {
		"a": {"key": "all", "limit": "%A", "reject_headers": {"X-Support": ["of a"], "X-A": ["a"]}},
		"b": {"key": "all", "limit": "%B", "reject_headers": {"X-Support": ["of {http.rate_limit.exceeded.name}"]}},
		"c": {"key": "all", "limit": "%C"}}}`
	for _, tc := range []struct{ a, b, c, support, ofA string }{
		{"block", "9/1h", "9/1h", "of a", "a"},
		{"9/1h", "block", "9/1h", "of b", ""},
		{"9/1h", "9/1h", "block", "", ""},
	} {
		h := provisioned(t, strings.NewReplacer("%A", tc.a, "%B", tc.b, "%C", tc.c).Replace(zones))
		got := serve(t, h, t.Context(), nil)
		if got.status != http.StatusTooManyRequests || got.header.Get("X-Support") != tc.support || got.header.Get("X-A") != tc.ofA {
			t.Errorf("%+v: status = %d, headers = %v", tc, got.status, got.header)
		}
	}
}

// An error route that rejects the request once more replaces the headers by those of its own zone.
func TestRejectHeadersOfErrorRoute(t *testing.T) {
	first := provisioned(t, `{"reject": "error", "log_rejections": "none", "rate_limits": {
		"a": {"key": "all", "limit": "block", "reject_headers": {"X-Support": ["of a"], "X-A": ["a"]}}}}`)
	for own, want := range map[string]string{`, "reject_headers": {"X-Support": ["of b"]}`: "of b", "": ""} {
		errorRoute := provisioned(t, `{"log_rejections": "none", "rate_limits": {"b": {"key": "all", "limit": "block"`+own+`}}}`)
		w, r := newStatusWriter(), benchRequest("k")
		if err := first.ServeHTTP(w, r, handlerThatWritesNothing); err == nil {
			t.Fatal("the first rejection is no error")
		}
		if err := errorRoute.ServeHTTP(w, r, handlerThatWritesNothing); err != nil {
			t.Fatal(err)
		}
		h := w.Header()
		if w.status != 429 || h.Get("X-Support") != want || h.Get("X-A") != "" {
			t.Errorf("zone b with %q: status = %d, headers = %v, want X-Support %q and no X-A", own, w.status, h, want)
		}
	}
}

// A client cannot end a header by what it sends, and what rate_limit writes around it stays.
func TestRejectHeadersOfHostileClients(t *testing.T) {
	h := provisioned(t, `{"log_rejections": "none", "rate_limits": {"user": {"key": "all", "limit": "block", "reject_headers": {
		"X-Query": ["a{http.request.uri.query.q}"], "Link": ["<{http.request.uri.query.q}>", "{http.request.uri.query.none}", "<b>"],
		"X-None": ["{http.request.uri.query.none}"]}}}}`)
	r := benchRequest("k")
	r.URL.RawQuery = "q=%0d%0aSet-Cookie:%20b%00%7f{env.HOME}"
	w := newBenchWriter()
	repl := r.Context().Value(caddy.ReplacerCtxKey).(*caddy.Replacer)
	repl.Map(func(name string) (any, bool) {
		return r.URL.Query().Get("q"), name == "http.request.uri.query.q"
	})
	if err := h.ServeHTTP(w, r, handlerThatWritesNothing); err != nil {
		t.Fatal(err)
	}
	header := w.Header()
	if got, want := header.Get("X-Query"), "a  Set-Cookie: b  {env.HOME}"; got != want {
		t.Errorf("X-Query = %q, want %q", got, want)
	}
	if got, want := strings.Join(header["Link"], "|"), "<  Set-Cookie: b  {env.HOME}>|<b>"; got != want {
		t.Errorf("Link = %q, want %q", got, want)
	}
	if _, set := header["X-None"]; set {
		t.Errorf("headers = %v, want no X-None", header)
	}
	if got := header.Get("Retry-After"); got != "86400" {
		t.Errorf("Retry-After = %q, want 86400", got)
	}
}

// reject_header replaces a header that an earlier handler has set. Later handlers may change the
// header without changing the next response.
func TestRejectHeadersReplace(t *testing.T) {
	h := provisioned(t, `{"log_rejections": "none", "rate_limits": {"user": {"key": "all", "limit": "block", "reject_headers": {
		"X-Support": ["fixed"]}}}}`)
	for range 2 {
		w := newBenchWriter()
		w.Header()["X-Support"] = []string{"of the site", "twice"}
		if err := h.ServeHTTP(w, benchRequest("k"), handlerThatWritesNothing); err != nil {
			t.Fatal(err)
		}
		if got := w.Header()["X-Support"]; len(got) != 1 || got[0] != "fixed" {
			t.Errorf("X-Support = %q, want fixed alone", got)
		}
		w.Header()["X-Support"][0] = "changed"
	}
}
