package gateway

import (
	"fmt"
	"maps"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/fleetlimit/fleetlimit/internal/observe/usage"
	"github.com/fleetlimit/fleetlimit/limiter"
)

func TestReportOnFirstOrEveryRejection(t *testing.T) {
	const (
		zone   = `{"key": "{http.request.header.X-Api-Key}", "limit": {"events": 1, "window": "24h"}}`
		legacy = `{"key": "{http.request.header.X-Api-Key}", "max_events": 1, "window": "24h"}`
	)
	for i, tc := range []struct {
		rejections, zone string
		first, all       int // lines after the first rejection of a key, and after two more
	}{
		{"", zone, 1, 1}, {"first", zone, 1, 1}, {"all", zone, 1, 3}, {"none", zone, 0, 0},
		{"", legacy, 1, 3}, {"first", legacy, 1, 1}, {"all", legacy, 1, 3}, {"none", legacy, 0, 0},
	} {
		h := provisioned(t, fmt.Sprintf(`{"log_rejections": %q, "rate_limits": {"report-%d": %s}}`, tc.rejections, i, tc.zone))
		core, logs := observer.New(zapcore.InfoLevel)
		h.log.Logger = zap.New(core)
		var lines [4]int
		for i := range lines {
			serve(t, h, t.Context(), nil)
			lines[i] = logs.Len()
		}
		if want := [4]int{0, tc.first, lines[2], tc.all}; lines != want {
			t.Errorf("log_rejections %q, zone %s: lines after each request = %v, want %v", tc.rejections, tc.zone, lines, want)
		}
	}
}

// A zone logs the first rejections of at most ReportsPerSecond keys a second, unless all rejections
// are logged.
func TestReportBoundsFirstRejections(t *testing.T) {
	const keys = 2 * usage.ReportsPerSecond
	for rejections, bounded := range map[string]bool{"first": true, "all": false} {
		h := provisioned(t, `{"log_rejections": "`+rejections+`", "rate_limits": {
			"keys-`+rejections+`": {"key": "{http.request.header.X-Api-Key}", "limit": {"events": 1, "window": "24h"}}}}`)
		core, logs := observer.New(zapcore.InfoLevel)
		h.log.Logger = zap.New(core)
		start := time.Now().Unix()
		for i := range keys {
			for range 2 {
				_ = h.ServeHTTP(httptest.NewRecorder(), benchRequest(fmt.Sprint("key ", i)), handlerThatWritesNothing)
			}
		}
		seconds := int(time.Now().Unix()-start) + 1
		if n := logs.Len(); bounded && n > seconds*usage.ReportsPerSecond || !bounded && n != keys {
			t.Errorf("log_rejections %s: lines for %d keys in %d s = %d, bounded: %v", rejections, keys, seconds, n, bounded)
		}
	}
}

// A limit that blocks has no window whose first rejection could be logged.
func TestReportOfBlockedIsBounded(t *testing.T) {
	h := provisioned(t, `{"rate_limits": {"blocked": {"key": "all", "limit": {"block": true}}}}`)
	core, logs := observer.New(zapcore.InfoLevel)
	h.log.Logger = zap.New(core)
	start := time.Now().Unix()
	for range 3 * usage.ReportsPerSecond {
		_ = h.ServeHTTP(httptest.NewRecorder(), benchRequest("k"), handlerThatWritesNothing)
	}
	seconds := int(time.Now().Unix()-start) + 1
	if n := logs.Len(); n < usage.ReportsPerSecond || n > seconds*usage.ReportsPerSecond {
		t.Errorf("lines in %d s = %d, want %d a second", seconds, n, usage.ReportsPerSecond)
	}
}

// Two zones with the same key log the same hash, and only log_key logs the key.
func TestRejectionSaysWhoIsLimited(t *testing.T) {
	const zone = `{"key": "{http.request.header.X-Api-Key}", "limit": {"block": true}}`
	for i, setting := range []string{`"log_key": false`, `"log_key": true`} {
		var lines []map[string]any
		for _, name := range []string{"who-a", "who-b"} {
			h := provisioned(t, fmt.Sprintf(`{"log_rejections": "all", %s, "rate_limits": {"%s-%d": %s}}`,
				setting, name, i, zone))
			core, logs := observer.New(zapcore.InfoLevel)
			h.log.Logger = zap.New(core)
			r := benchRequest("sk_live_1")
			r.RemoteAddr, r.Host, r.Method = "198.51.100.7:443", "api.example.com", "POST"
			r.URL = &url.URL{Path: "/v1/a b", RawQuery: "token=secret"}
			_ = h.ServeHTTP(httptest.NewRecorder(), r, handlerThatWritesNothing)
			lines = append(lines, logs.All()[0].ContextMap())
		}
		want := map[string]any{
			"zone": fmt.Sprintf("who-a-%d", i), "wait": 24 * time.Hour, "status": int64(429), "remote_ip": "198.51.100.7",
			"client_ip": "192.0.2.1", "method": "POST", "host": "api.example.com", "path": "/v1/a%20b",
			"key_hash": "992621cb1579", // printf %s sk_live_1 | sha256sum | cut -c1-12
		}
		if i == 1 {
			want["key"] = "sk_live_1"
		}
		if !maps.Equal(lines[0], want) {
			t.Errorf("with %s: line = %v\nwant %v", setting, lines[0], want)
		}
		if lines[1]["key_hash"] != want["key_hash"] {
			t.Errorf("with %s: hash of the key in another zone = %v, want %v", setting, lines[1]["key_hash"], want["key_hash"])
		}
	}
}

// The log names the zone with the highest rate, of two zones in the syntax of caddy-ratelimit, and
// has its key.
func TestRejectionHasKeyOfNamedZone(t *testing.T) {
	s := &scriptedStore{decision: limiter.Decision{Limit: 1, RetryAt: 1_000_000}}
	h, logs := scripted(t, `{"log_key": true, "rate_limits": {
		"named-a": {"key": "{http.request.header.X-Api-Key}", "max_events": 1, "window": "1h"},
		"named-b": {"key": "{http.request.header.X-Tenant}", "max_events": 1, "window": "1m"}}}`, s)
	serve(t, h, t.Context(), nil)
	line := logs.All()[0].ContextMap()
	if line["zone"] != "named-b" || line["key"] != "tenant" || line["key_hash"] != "e9da86d351cf" {
		t.Errorf("line = %v, want zone named-b and its key", line)
	}
}

// A request through a Unix socket has no address. Its line has no hash, which would find nothing.
func TestRejectionWithoutAddressHasNoHash(t *testing.T) {
	h := provisioned(t, `{"rate_limits": {"socket": {"key": "{client_ip}", "limit": {"block": true}}}}`)
	core, logs := observer.New(zapcore.InfoLevel)
	h.log.Logger = zap.New(core)
	ask(t, h, "@", nil)
	lines := logs.FilterMessage("rate limit exceeded").All()
	if len(lines) != 1 {
		t.Fatalf("lines = %v, want one rejection", logs.All())
	}
	if hash, found := lines[0].ContextMap()["key_hash"]; found {
		t.Errorf("key_hash = %v, want none", hash)
	}
}
