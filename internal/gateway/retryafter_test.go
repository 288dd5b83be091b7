package gateway

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// deniedForDay is the decision of a store that admits the key again in a day.
var deniedForDay = limiter.Decision{At: 10_000_000, Limit: 100, RetryAt: 86_410_000_000, ResetAt: 86_410_000_000}

// TestMaxRetryAfter has a wait of a day told as a wait of an hour, in all forms, whatever the store
// says and whichever headers the response has. The log has the whole wait, because operators want
// to know it.
func TestMaxRetryAfter(t *testing.T) {
	inOutage := deniedForDay
	inOutage.Source = limiter.FromOutage
	for _, tc := range []struct {
		name, settings, onOutage string
		store                    scriptedStore
		status                   int
		body, rateLimit          string
	}{
		{"json", `"reject": "json"`, "local", scriptedStore{decision: deniedForDay}, 429, `"retry_after_seconds":3600,`, `"user";r=0;t=3600`},
		{"problem", `"reject": "problem"`, "local", scriptedStore{decision: deniedForDay}, 429, `"retry_after_seconds":3600}`, `"user";r=0;t=3600`},
		{"no headers", `"headers": "none"`, "local", scriptedStore{decision: deniedForDay}, 429, `"retry_after_seconds":3600}`, ""},
		{"share of a node", `"reject": "json"`, "local", scriptedStore{decision: inOutage, err: errStore}, 429, `"retry_after_seconds":3600,`, ""},
		{"closed", `"reject": "json"`, "closed", scriptedStore{decision: inOutage, err: errStore}, 503, `"retry_after_seconds":3600}`, ""},
		{"closed, as a problem", `"reject": "problem"`, "closed", scriptedStore{decision: inOutage, err: errStore}, 503, `"retry_after_seconds":3600}`, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h, logs := scripted(t, `{"max_retry_after": "1h", "log_rejections": "all", `+tc.settings+`, "rate_limits": {"user": {
				"key": "{http.request.header.X-Api-Key}", "limit": "100/24h", "on_outage": "`+tc.onOutage+`"}}}`, &tc.store)
			got := serve(t, h, t.Context(), nil)
			if got.status != tc.status || got.header.Get("Retry-After") != "3600" || got.header.Get("RateLimit") != tc.rateLimit {
				t.Errorf("status = %d, headers = %v, want %d, Retry-After: 3600 and RateLimit: %s", got.status, got.header, tc.status, tc.rateLimit)
			}
			if !strings.Contains(got.body, tc.body) {
				t.Errorf("body = %s, want %s in it", got.body, tc.body)
			}
			if logs.FilterField(zap.Duration("wait", 24*time.Hour)).Len() != 1 {
				t.Errorf("log = %v, want a wait of a day", logs.All())
			}
		})
	}
}

// An error route reads the bounded wait from the header. The instant at which the key is back at
// its full limit is no wait, and is not bounded.
func TestMaxRetryAfterInErrorRoute(t *testing.T) {
	h, _ := scripted(t, `{"max_retry_after": "1h", "reject": "error", "rate_limits": {"user": {"key": "all", "limit": "100/24h"}}}`,
		&scriptedStore{decision: deniedForDay})
	earliest := limiter.At(time.Now().Add(24 * time.Hour)).Unix()
	got := serve(t, h, t.Context(), nil)
	if got.err == nil || got.header.Get("Retry-After") != "3600" {
		t.Errorf("error = %v, headers = %v, want an error, and Retry-After: 3600", got.err, got.header)
	}
	value, _ := got.repl.GetString("http.rate_limit.user.reset")
	if reset, _ := strconv.ParseInt(value, 10, 64); reset < earliest || value != got.header.Get("X-RateLimit-Reset") {
		t.Errorf("{http.rate_limit.user.reset} = %s, X-RateLimit-Reset = %s, want the same, %d or later",
			value, got.header.Get("X-RateLimit-Reset"), earliest)
	}
}
