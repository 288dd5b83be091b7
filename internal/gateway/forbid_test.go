package gateway

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/fleetlimit/fleetlimit/internal/observe/usage"
)

// forbidding are handlers that forbid benchRequest("k"), each for another reason. A zone with a
// limit comes before the zone that forbids it.
var forbidding = []struct {
	config, reason, message, zone string
}{
	{`"deny": ["192.0.2.0/24"], "rate_limits": {
		"counting": {"key": "all", "limit": {"events": 1000000, "window": "1h"}}}`,
		"denied_address", "The client's address is denied", ""},
	{`"rate_limits": {
		"counting": {"key": "all", "limit": {"events": 1000000, "window": "1h"}},
		"user": {"key": "{http.request.header.X-Api-Key}", "deny_keys": ["k"], "limit": {"events": 5, "window": "1m"}}}`,
		"denied_key", "The key is denied", "user"},
	{`"rate_limits": {
		"counting": {"key": "all", "limit": {"events": 1000000, "window": "1h"}},
		"user": {"key": "{http.request.header.X-None}", "on_missing_key": "deny", "limit": {"events": 5, "window": "1m"}}}`,
		"missing_key", "The request has no key", "user"},
}

func TestForbiddenFollowsReject(t *testing.T) {
	for _, tc := range forbidding {
		zone := ""
		if tc.zone != "" {
			zone = `"zone":"` + tc.zone + `",`
		}
		for style, want := range map[string]struct{ contentType, body string }{
			"json": {"application/json", `{"error":{"code":"FORBIDDEN","message":"` + tc.message + `","details":{` + zone +
				`"reason":"` + tc.reason + `"}}}` + "\n"},
			"problem": {"application/problem+json", `{"type":"about:blank","title":"Forbidden","status":403,"detail":"` +
				tc.message + `",` + zone + `"reason":"` + tc.reason + `"}` + "\n"},
			"error": {},
		} {
			h := provisioned(t, `{"log_rejections": "none", "reject": "`+style+`", `+tc.config+`}`)
			counting := h.requests.Zones[0].Usage
			admitted := counting.Sum().Admitted.Total()
			w, r := httptest.NewRecorder(), benchRequest("k")
			err := h.ServeHTTP(w, r, caddyhttp.HandlerFunc(func(http.ResponseWriter, *http.Request) error {
				t.Errorf("%s, %s: the request was admitted", tc.reason, style)
				return nil
			}))
			if style == "error" {
				var failed caddyhttp.HandlerError
				if !errors.As(err, &failed) || failed.StatusCode != http.StatusForbidden || failed.Err.Error() != tc.message {
					t.Errorf("%s, %s: error = %v, want 403 with %q", tc.reason, style, err, tc.message)
				}
			} else if err != nil || w.Code != http.StatusForbidden || w.Body.String() != want.body ||
				w.Header().Get("Content-Type") != want.contentType {
				t.Errorf("%s, %s: %d, %v, body\n%s, error %v; want 403, %s, body\n%s",
					tc.reason, style, w.Code, w.Header(), w.Body, err, want.contentType, want.body)
			}
			for name, want := range map[string]string{"Cache-Control": "no-store", "Retry-After": "", "X-RateLimit-Limit": ""} {
				if got := w.Header().Get(name); got != want {
					t.Errorf("%s, %s: %s = %q, want %q", tc.reason, style, name, got, want)
				}
			}
			repl := r.Context().Value(caddy.ReplacerCtxKey).(*caddy.Replacer)
			for name, want := range map[string]string{"exceeded.name": tc.zone, "counting.remaining": ""} {
				if got, known := repl.GetString("http.rate_limit." + name); got != want || !known {
					t.Errorf("%s, %s: placeholder %s = %q (known: %v), want %q", tc.reason, style, name, got, known, want)
				}
			}
			if n := counting.Sum().Admitted.Total() - admitted; n != 0 {
				t.Errorf("%s, %s: the other zone has counted the request", tc.reason, style)
			}
		}
	}
}

func TestForbiddenIsCounted(t *testing.T) {
	for _, tc := range forbidding {
		h := provisioned(t, `{"log_rejections": "none", `+tc.config+`}`)
		count := reports.Addresses.Denied.Load
		if tc.zone != "" {
			count = h.requests.Zones[1].Usage.Denied.Load
		}
		before := count()
		r := benchRequest("k")
		_ = h.ServeHTTP(httptest.NewRecorder(), r, handlerThatWritesNothing)
		if tc.zone == "" { // error routes may have the handler, too
			_ = h.ServeHTTP(httptest.NewRecorder(), r, handlerThatWritesNothing)
		}
		if got := count() - before; got != 1 {
			t.Errorf("%s: denied requests of one = %d", tc.reason, got)
		}
	}
}

// A zone in the syntax of caddy-ratelimit hands a 403 over to the error routes, as it does a 429.
func TestForbiddenByLegacyZoneIsError(t *testing.T) {
	h := provisioned(t, `{"rate_limits": {"legacy-forbidden": {
		"key": "{http.request.header.X-None}", "on_missing_key": "deny", "max_events": 5, "window": "1m"}}}`)
	var failed caddyhttp.HandlerError
	err := h.ServeHTTP(httptest.NewRecorder(), benchRequest("k"), handlerThatWritesNothing)
	if !errors.As(err, &failed) || failed.StatusCode != http.StatusForbidden {
		t.Errorf("error = %v, want 403", err)
	}
}

// A 403 belongs to no window whose first one could be logged. So log_rejections first bounds the
// lines per second.
func TestForbiddenIsLogged(t *testing.T) {
	const requests = 3 * usage.ReportsPerSecond
	for _, tc := range forbidding {
		for rejections, bounded := range map[string]bool{"": true, "first": true, "all": false} {
			h := provisioned(t, `{"log_rejections": "`+rejections+`", "log_key": true, `+tc.config+`}`)
			if tc.zone != "" {
				h.requests.Zones[1].Usage.Windowless = usage.ReportLimit{}
			}
			core, logs := observer.New(zapcore.InfoLevel)
			h.log.Logger = zap.New(core)
			start := time.Now().Unix()
			for range requests {
				_ = h.ServeHTTP(httptest.NewRecorder(), benchRequest("k"), handlerThatWritesNothing)
			}
			seconds := int(time.Now().Unix()-start) + 1
			if n := logs.Len(); bounded && (n < usage.ReportsPerSecond || n > seconds*usage.ReportsPerSecond) || !bounded && n != requests {
				t.Errorf("%s, log_rejections %q: lines of %d requests in %d s = %d, bounded: %v",
					tc.reason, rejections, requests, seconds, n, bounded)
			}
			line := logs.All()[0]
			want := map[string]any{"reason": tc.reason, "zone": nil, "status": int64(403), "remote_ip": "192.0.2.1",
				"client_ip": "192.0.2.1", "method": "GET", "host": "", "path": "/", "key": nil, "key_hash": nil, "wait": nil}
			if tc.zone != "" {
				want["zone"] = tc.zone
			}
			if tc.reason == "denied_key" {
				want["key"], want["key_hash"] = "k", "8254c329a928"
			}
			for name, value := range want {
				if got := line.ContextMap()[name]; got != value || line.Message != "request denied" {
					t.Errorf("%s: %s with %s = %v, want %v", tc.reason, line.Message, name, got, value)
				}
			}
		}
		h := provisioned(t, `{"log_rejections": "none", `+tc.config+`}`)
		core, logs := observer.New(zapcore.InfoLevel)
		h.log.Logger = zap.New(core)
		_ = h.ServeHTTP(httptest.NewRecorder(), benchRequest("k"), handlerThatWritesNothing)
		if logs.Len() != 0 {
			t.Errorf("%s, log_rejections none: %s", tc.reason, fmt.Sprint(logs.All()))
		}
	}
}
