package fleetlimit

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
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

// An error route may have a rate_limit handler too. Its headers replace those of the handler that
// rejected the request, except for Retry-After.
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
