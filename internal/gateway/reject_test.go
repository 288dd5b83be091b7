package gateway

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"go.uber.org/zap"

	"github.com/fleetlimit/fleetlimit/limiter"
)

var handlerThatWritesNothing = caddyhttp.HandlerFunc(func(http.ResponseWriter, *http.Request) error { return nil })

func TestRejectionKeepsServerHeader(t *testing.T) {
	for _, style := range []string{"json", "problem", "error"} {
		h := provisioned(t, `{"log_rejections": "none", "reject": "`+style+`", "rate_limits": {
			"`+t.Name()+`-`+style+`": {"key": "all", "limit": {"block": true}}}}`)
		w := httptest.NewRecorder()
		w.Header().Set("Server", "Caddy")
		_ = h.ServeHTTP(w, benchRequest("k"), handlerThatWritesNothing)
		if got := w.Header().Get("Server"); got != "Caddy" || w.Header().Get("Retry-After") == "" {
			t.Errorf("headers of a rejection as %s = %v, want Retry-After, and Server: Caddy", style, w.Header())
		}
	}
}

// An error route may have a rate_limit handler, too. Its headers replace those of the handler that
// rejected the request, except Retry-After.
func TestErrorRouteKeepsRetryAfter(t *testing.T) {
	rejecting := provisioned(t, `{"log_rejections": "none", "reject": "error", "rate_limits": {
		"rejecting": {"key": "all", "limit": {"block": true}}}}`)
	page := provisioned(t, `{"rate_limits": {"page": {"key": "all", "limit": {"events": 5, "window": "1m"}}}}`)

	w, r := httptest.NewRecorder(), benchRequest("k")
	if err := rejecting.ServeHTTP(w, r, handlerThatWritesNothing); err == nil {
		t.Fatal("the request was admitted")
	}
	if err := page.ServeHTTP(w, r, handlerThatWritesNothing); err != nil {
		t.Fatal(err)
	}
	if got := w.Header().Get("Retry-After"); got != "86400" {
		t.Errorf("Retry-After = %q, want 86400", got)
	}
}

// deniedInOutage is the decision of on_outage to deny for three seconds.
var deniedInOutage = limiter.Decision{
	Source: limiter.FromOutage, At: 10_000_000, Limit: 5, Remaining: 2, RetryAt: 12_500_000, ResetAt: 12_500_000,
}

// TestOnOutageClosed answers 503, in all forms.
func TestOnOutageClosed(t *testing.T) {
	for style, want := range map[string]string{
		"json": `{"error":{"code":"TEMPORARILY_UNAVAILABLE","message":"Requests cannot be counted at the moment",` +
			`"details":{"zone":"user","retry_after_seconds":3}}}`,
		"problem": `{"type":"https://iana.org/assignments/http-problem-types#temporary-reduced-capacity",` +
			`"title":"Service Unavailable","status":503,"detail":"Requests cannot be counted at the moment",` +
			`"violated-policies":["user"],"retry_after_seconds":3}`,
		"error": "",
	} {
		t.Run(style, func(t *testing.T) { testOnOutageClosed(t, style, want) })
	}
}

func testOnOutageClosed(t *testing.T, style, want string) {
	h, logs := scripted(t, `{"reject": "`+style+`", "log_rejections": "all", "rate_limits": {
			"user": {"key": "{http.request.header.X-Api-Key}", "limit": {"events": 5, "window": "1m"}, "on_outage": "closed"}}}`,
		&scriptedStore{err: errStore, decision: deniedInOutage})
	got := serve(t, h, t.Context(), nil)
	var failed caddyhttp.HandlerError
	if errors.As(got.err, &failed) {
		got.status = failed.StatusCode
	}
	if got.status != http.StatusServiceUnavailable || got.admitted || (style == "error") != (failed.StatusCode != 0) {
		t.Errorf("%s: status = %d, error = %v, admitted = %v, want 503", style, got.status, got.err, got.admitted)
	}
	if body := strings.TrimSuffix(got.body, "\n"); body != want || want != "" && !json.Valid([]byte(body)) {
		t.Errorf("%s: body = %s, want %s", style, body, want)
	}
	for name, want := range map[string]string{
		"Retry-After": "3", "Cache-Control": "no-store", "X-RateLimit-Remaining": "-1", "X-RateLimit-Policy": "degraded",
		"X-RateLimit-Reset": "", "RateLimit": "", "RateLimit-Policy": `"user";q=5;w=60`,
	} {
		if value := got.header.Get(name); value != want {
			t.Errorf("%s: %s = %q, want %q", style, name, value, want)
		}
	}
	if z := h.requests.Zones[0]; z.Usage.Sum().Unavailable.Total() != 1 || z.Usage.Sum().Rejected.Total() != 0 || z.Usage.Sum().Outage.Total() != 0 {
		t.Errorf("%s: the zone counts %+v, want one unavailable", style, z.Usage)
	}
	if n := logs.Len(); n != 1 {
		t.Errorf("%s: log = %v, want the rejection", style, logs.All())
	}
}

// TestRejectionsInOutageAreLogged has a key rejected five times in an outage. The first rejection
// of a window is logged, or all are.
func TestRejectionsInOutageAreLogged(t *testing.T) {
	for _, test := range []struct {
		mode, which, message string
		status, lines        int
	}{
		{"local", "first", "rate limit exceeded", 429, 1},
		{"local", "all", "rate limit exceeded", 429, 5},
		{"local", "none", "rate limit exceeded", 429, 0},
		{"closed", "first", "rate limit is not available", 503, 1},
		{"closed", "all", "rate limit is not available", 503, 5},
		{"closed", "none", "rate limit is not available", 503, 0},
	} {
		store := &scriptedStore{err: errStore, decision: deniedInOutage}
		h, logs := scripted(t, `{"log_rejections": "`+test.which+`", "rate_limits": {"user": {"key": "{http.request.header.X-Api-Key}",
			"limit": {"events": 5, "window": "1m"}, "on_outage": "`+test.mode+`"}}}`, store)
		for i := range 5 {
			store.decision.Breach = i == 0
			serve(t, h, t.Context(), nil)
		}
		lines := logs.FilterMessage(test.message).FilterField(zap.Int("status", test.status)).FilterField(zap.String("zone", "user"))
		if n := lines.Len(); n != test.lines || logs.Len() != n {
			t.Errorf("log_rejections %s in mode %s: log = %v, want %d rejections",
				test.which, test.mode, logs.All(), test.lines)
		}
	}
}

// TestOnOutageLocalDenies answers 429 for a request above a node's share.
func TestOnOutageLocalDenies(t *testing.T) {
	h, _ := scripted(t, `{"rate_limits": {
		"user": {"key": "{http.request.header.X-Api-Key}", "limit": {"events": 5, "window": "1m"}}}}`,
		&scriptedStore{err: errStore, decision: deniedInOutage})
	got := serve(t, h, t.Context(), nil)
	if got.status != http.StatusTooManyRequests || got.header.Get("Retry-After") != "3" ||
		got.header.Get("X-RateLimit-Remaining") != "-1" || got.header.Get("X-RateLimit-Policy") != "degraded" {
		t.Errorf("response = %d with %v, want 429, Retry-After 3, degraded", got.status, got.header)
	}
	if n := h.requests.Zones[0].Usage.Sum().Rejected[limiter.FromOutage].Load(); n != 1 {
		t.Errorf("rejected by on_outage = %d, want 1", n)
	}
}

// TestRejectionWinsOverOutage has one zone deny while on_outage closed denies for longer in
// another. The response describes the limit that is exceeded.
func TestRejectionWinsOverOutage(t *testing.T) {
	for _, zones := range []string{`"block": {"key": "k", "limit": {"block": true}}, "user": %`, `"user": %, "zz": {"key": "k", "limit": {"block": true}}`} {
		user := `{"key": "{http.request.header.X-Api-Key}", "limit": {"events": 5, "window": "1m"}, "on_outage": "closed"}`
		long := deniedInOutage
		long.RetryAt += 1e12
		h, _ := scripted(t, `{"rate_limits": {`+strings.Replace(zones, "%", user, 1)+`}}`, &scriptedStore{err: errStore, decision: long})
		if got := serve(t, h, t.Context(), nil); got.status != http.StatusTooManyRequests || got.header.Get("Retry-After") != "86400" {
			t.Errorf("response = %d with %v, want 429 by the zone that blocks", got.status, got.header)
		}
	}
}
