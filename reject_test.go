package fleetlimit

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

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

func TestBodiesDescribeLimit(t *testing.T) {
	for _, tc := range []struct {
		limit            limiter.Limit
		message, details string
	}{
		{limiter.Limit{Events: 100, Window: time.Minute}, "Rate limit of 100 requests per minute exceeded",
			`"limit":100,"window_seconds":60,`},
		{limiter.Limit{Events: 100, Window: time.Minute, Burst: 100}, "Rate limit of 100 requests per minute exceeded",
			`"limit":100,"window_seconds":60,`},
		{limiter.Limit{Events: 100, Window: time.Minute, Burst: 20},
			"Rate limit of 100 requests per minute (bursts of 20) exceeded", `"limit":100,"burst":20,"window_seconds":60,`},
		{limiter.Limit{Events: 1, Window: 1500 * time.Millisecond, Burst: 5},
			"Rate limit of 1 request per 1.5 seconds (bursts of 5) exceeded", `"limit":1,"burst":5,"window_seconds":1.5,`},
	} {
		compiled, err := limiter.NewRule(limiter.Rule{Limit: tc.limit})
		if err != nil {
			t.Fatal(err)
		}
		body, problem := newBodies("user", &rule{Rule: compiled, window: tc.limit.Window})
		if want := `"message":"` + tc.message + `","details":{"zone":"user",` + tc.details; !strings.Contains(body, want) {
			t.Errorf("JSON body of %+v =\n%s, want\n%s in it", tc.limit, body, want)
		}
		if want := `"detail":"` + tc.message + `"`; !strings.Contains(problem, want) {
			t.Errorf("problem of %+v =\n%s, want\n%s in it", tc.limit, problem, want)
		}
	}
}

func TestPeriod(t *testing.T) {
	for d, want := range map[time.Duration]string{
		time.Microsecond:        "0.000001 seconds",
		time.Millisecond:        "0.001 seconds",
		500 * time.Millisecond:  "0.5 seconds",
		time.Second:             "second",
		1500 * time.Millisecond: "1.5 seconds",
		10 * time.Second:        "10 seconds",
		time.Minute:             "minute",
		90 * time.Second:        "90 seconds",
		5 * time.Minute:         "5 minutes",
		time.Hour:               "hour",
		90 * time.Minute:        "90 minutes",
		36 * time.Hour:          "36 hours",
		24 * time.Hour:          "day",
		7 * 24 * time.Hour:      "7 days",
	} {
		if got := period(d); got != want {
			t.Errorf("period(%v) = %q, want %q", d, got, want)
		}
	}
}
