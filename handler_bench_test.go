package fleetlimit

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetlimit/fleetlimit/rules"
)

// provisioned returns a handler from its JSON configuration, in a configuration of its own that has
// started.
func provisioned(tb testing.TB, config string) *Handler {
	tb.Helper()
	ctx, err := caddy.ProvisionContext(&caddy.Config{Admin: &caddy.AdminConfig{Disabled: true}})
	if err != nil {
		tb.Fatal(err)
	}
	h := new(Handler)
	if err := json.Unmarshal([]byte(config), h); err != nil {
		tb.Fatal(err)
	}
	if err := h.Provision(ctx); err != nil {
		tb.Fatal(err)
	}
	if err := h.app.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		h.app.Stop()
		h.Cleanup()
		h.app.Cleanup()
	})
	return h
}

// BenchmarkHandler measures what the handler adds to a request: with three zones and 1000 warm
// keys, for a rejection, and if no zone matches. impl=next is the request without it.
func BenchmarkHandler(b *testing.B) {
	three := provisioned(b, `{"rate_limits": {
		"user":   {"key": "{http.request.header.X-Api-Key}", "limit": {"events": 1000000000, "window": "1m"}},
		"tenant": {"key": "{http.request.header.X-Tenant}", "limit": {"events": 1000000000, "window": "1m"}},
		"ip":     {"key": "{http.vars.client_ip}", "limit": {"events": 1000000000, "window": "1m"}}}}`)
	exhausted := provisioned(b, `{"rate_limits": {"full": {"key": "all", "limit": {"events": 1, "window": "24h"}}}}`)
	unmatched := provisioned(b, `{"rate_limits": {"put": {"key": "all", "limit": {"events": 1, "window": "24h"},
		"match": [{"method": ["PUT"]}]}}}`)
	next := caddyhttp.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) error {
		w.WriteHeader(http.StatusOK)
		return nil
	})
	for _, bb := range []struct {
		name  string
		serve caddyhttp.MiddlewareHandler
	}{{"next", nil}, {"three-zones", three}, {"rejected", exhausted}, {"no-match", unmatched}} {
		b.Run("impl="+bb.name, func(b *testing.B) {
			b.ReportAllocs()
			keys := make([]string, 1000)
			for i := range keys {
				keys[i] = fmt.Sprintf("key-%04d", i)
			}
			for i := 0; b.Loop(); i++ {
				r, w := benchRequest(keys[i%len(keys)]), newBenchWriter()
				if bb.serve == nil {
					_ = next.ServeHTTP(w, r)
				} else {
					_ = bb.serve.ServeHTTP(w, r, next)
				}
			}
		})
	}
}

// BenchmarkOverrides measures what 100,000 overrides of other keys, and one of the key itself, add to a
// request. The variants take turns, and the quickest batch of each counts, so that other programs
// disturb it little.
func BenchmarkOverrides(b *testing.B) {
	const batch = 500
	variants := []struct {
		name, key string
		overrides int
		h         *Handler
		least     time.Duration
	}{{name: "none", key: "key"}, {name: "others", key: "key", overrides: 100_000},
		{name: "own", key: "overridden", overrides: 100_000}}
	for i := range variants {
		v := &variants[i]
		zone := "bench-" + v.name
		v.h = provisioned(b, `{"rate_limits": {"`+zone+`": {"key": "{http.request.header.X-Api-Key}", "limit": "1000000000/1m"}}}`)
		v.h.app.applying.Lock()
		v.h.app.applyLocked(&rules.Version{Number: 1, Document: manyOverrides(zone, v.overrides)})
		v.h.app.applying.Unlock()
	}
	for b.Loop() {
		for i := range variants {
			v := &variants[i]
			start := time.Now()
			for n := range batch {
				_ = v.h.ServeHTTP(newBenchWriter(), benchRequest(v.key+"-"+strconv.Itoa(n)), handlerThatWritesNothing)
			}
			if took := time.Since(start); v.least == 0 || took < v.least {
				v.least = took
			}
		}
	}
	for _, v := range variants {
		b.ReportMetric(float64(v.least.Nanoseconds())/batch, "ns-with-"+v.name)
	}
}

// benchRequest returns a request as Caddy's server hands it to handlers.
func benchRequest(key string) *http.Request {
	r := &http.Request{
		Method: "GET", URL: benchURL, RemoteAddr: "192.0.2.1:1234",
		Header: http.Header{"X-Api-Key": {key}, "X-Tenant": {"tenant"}},
	}
	ctx := context.WithValue(context.Background(), caddy.ReplacerCtxKey, caddy.NewEmptyReplacer())
	ctx = context.WithValue(ctx, caddyhttp.VarsCtxKey, map[string]any{caddyhttp.ClientIPVarKey: "192.0.2.1"})
	return r.WithContext(ctx)
}

var benchURL = httptest.NewRequest("GET", "http://example.com/", nil).URL

type benchWriter struct{ header http.Header }

// newBenchWriter returns a writer with the header that Caddy's server sets before any handler does.
func newBenchWriter() *benchWriter {
	return &benchWriter{header: http.Header{"Server": {"Caddy"}}}
}

func (w *benchWriter) Header() http.Header         { return w.header }
func (w *benchWriter) Write(p []byte) (int, error) { return len(p), nil }
func (w *benchWriter) WriteHeader(int)             {}
