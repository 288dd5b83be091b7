package gateway

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// The placeholders of a zone that did not apply are empty. Only placeholders of a zone that does
// not exist are unknown, and so printed literally.
func TestPlaceholdersOfZones(t *testing.T) {
	zones := func(matched string) string {
		rest := fmt.Sprintf(`"limit": {"events": 5, "window": "1m"}, "match": [{"method": [%q]}]`, matched)
		return `"log_rejections": "none", "rate_limits": {
			"applies":   {"key": "{http.request.header.X-Api-Key}", ` + rest + `},
			"no-key":    {"key": "{http.request.header.X-None}", "on_missing_key": "skip", ` + rest + `},
			"allow.key": {"key": "all", "allow_keys": ["a*"], ` + rest + `}}`
	}
	for name, tc := range map[string]struct{ config, limit string }{
		"one zone applies":   {zones("GET"), "5"},
		"no zone matches":    {zones("PUT"), ""},
		"address is allowed": {`"allow": ["192.0.2.1"], ` + zones("GET"), ""},
		"address is denied":  {`"deny": ["192.0.2.1"], ` + zones("GET"), ""},
	} {
		h := provisioned(t, "{"+tc.config+"}")
		r := benchRequest(name)
		repl := r.Context().Value(caddy.ReplacerCtxKey).(*caddy.Replacer)
		_ = h.ServeHTTP(httptest.NewRecorder(), r, handlerThatWritesNothing)
		got := repl.ReplaceKnown("{http.rate_limit.applies.limit}|{http.rate_limit.no-key.reset}|"+
			"{http.rate_limit.allow.key.source}|{http.rate_limit.exceeded.name}|"+
			"{http.rate_limit.other.limit}|{http.rate_limit.applies.other}|{http.rate_limit.limit}", "")
		want := tc.limit + "||||{http.rate_limit.other.limit}|{http.rate_limit.applies.other}|{http.rate_limit.limit}"
		if got != want {
			t.Errorf("%s: placeholders = %s, want %s", name, got, want)
		}
	}
}

// A handler in which no zone matches does not hide the zones of a later one.
func TestPlaceholdersOfLaterHandler(t *testing.T) {
	first := provisioned(t, `{"rate_limits": {
		"first": {"key": "all", "limit": {"events": 5, "window": "1m"}, "match": [{"method": ["PUT"]}]}}}`)
	later := provisioned(t, `{"rate_limits": {"later": {"key": "all", "limit": {"events": 5, "window": "1m"}}}}`)
	first.app.definitions["later"] = later.app.definitions["later"] // as if both were in one configuration
	r := benchRequest("k")
	repl := r.Context().Value(caddy.ReplacerCtxKey).(*caddy.Replacer)
	read := func() string { return repl.ReplaceKnown("{http.rate_limit.later.limit}", "") }
	second := caddyhttp.HandlerFunc(func(w http.ResponseWriter, r *http.Request) error {
		if got := read(); got != "" {
			t.Errorf("limit before the later handler = %q, want none", got)
		}
		return later.ServeHTTP(w, r, handlerThatWritesNothing)
	})
	_ = first.ServeHTTP(httptest.NewRecorder(), r, second)
	if got := read(); got != "5" {
		t.Errorf("limit after the later handler = %q, want 5", got)
	}
}

// Each of the concurrent requests passes two handlers, of which the second rejects all but the
// first request. A rejected request is charged nowhere. No request counts for another, or gets the
// body of another. The race detector finds memory that two of them use.
func TestConcurrentRequestsShareNoEvaluation(t *testing.T) {
	const clients, requests = 8, 50
	outer := provisioned(t, `{"log_rejections": "none", "rate_limits": {
		"outer": {"key": "{http.request.header.X-Api-Key}", "limit": {"events": 50, "window": "24h"}}}}`)
	inner := make([]*Handler, clients)
	for i := range inner {
		inner[i] = provisioned(t, fmt.Sprintf(`{"log_rejections": "none", "rate_limits": {
			"inner-%d": {"key": "{http.request.header.X-Api-Key}", "limit": {"events": 1, "window": "24h"}}}}`, i))
	}
	var wg sync.WaitGroup
	for i := range clients {
		wg.Go(func() {
			next := caddyhttp.HandlerFunc(func(w http.ResponseWriter, r *http.Request) error {
				return inner[i].ServeHTTP(w, r, caddyhttp.HandlerFunc(func(http.ResponseWriter, *http.Request) error { return nil }))
			})
			for n := range requests {
				w, r := httptest.NewRecorder(), benchRequest(fmt.Sprintf("%s-%d", t.Name(), i))
				if err := outer.ServeHTTP(w, r, next); err != nil {
					t.Errorf("client %d, request %d: %v", i, n, err)
				}
				zone := fmt.Sprintf(`"zone":"inner-%d"`, i)
				if n > 0 && (w.Code != http.StatusTooManyRequests || strings.Count(w.Body.String(), zone) != 1) {
					t.Errorf("client %d, request %d: status %d, body %s, want 429 and %s", i, n, w.Code, w.Body, zone)
				}
				const remaining = `"outer";r=49`
				if got := w.Header().Get("RateLimit"); !strings.Contains(got, remaining) {
					t.Errorf("client %d, request %d: RateLimit %q, want %s", i, n, got, remaining)
				}
			}
		})
	}
	wg.Wait()
}
