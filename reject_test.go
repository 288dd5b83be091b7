package fleetlimit

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

var handlerThatWritesNothing = caddyhttp.HandlerFunc(func(http.ResponseWriter, *http.Request) error { return nil })

// A rejection has at most eight headers of its own, and no Server; what error routes write is theirs.
func TestRejectionsHaveNoServerHeader(t *testing.T) {
	for _, test := range []struct {
		style   string
		server  string
		headers int
	}{
		{"json", "", 8},
		{"problem", "", 8},
		{"error", "Caddy", 8}, // without Content-Type
	} {
		h := provisioned(t, `{"log_rejections": "none", "reject": "`+test.style+`", "rate_limits": {
			"`+t.Name()+`-`+test.style+`": {"key": "all", "limit": {"events": 1, "window": "24h"}}}}`)
		var w *httptest.ResponseRecorder
		for range 2 {
			w = httptest.NewRecorder()
			w.Header().Set("Server", "Caddy")
			_ = h.ServeHTTP(w, benchRequest("k"), handlerThatWritesNothing)
		}
		if got := w.Header().Get("Server"); got != test.server {
			t.Errorf("Server of a rejection as %s = %q, want %q", test.style, got, test.server)
		}
		if got := len(w.Header()); got != test.headers {
			t.Errorf("headers of a rejection as %s = %d, want %d: %v", test.style, got, test.headers, w.Header())
		}
	}
}

// An error route that limits too has headers of its own, but when to come again is said by the handler that rejected.
func TestRetryAfterOutlastsAnotherHandlerInTheErrorRoute(t *testing.T) {
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
