package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	_ "github.com/caddyserver/caddy/v2/modules/filestorage"

	"github.com/fleetlimit/fleetlimit/internal/request/zone"
	"github.com/fleetlimit/fleetlimit/rules"
)

// provisioned returns a handler from its JSON configuration. The handler is in a configuration of
// its own, which runs until the test ends.
func provisioned(tb testing.TB, config string) *Handler {
	tb.Helper()
	h, _ := provisionedIn(tb, "", config)
	return h
}

// provisionedIn does what provisioned does, with Caddy's storage in dir, or the default storage if
// dir is "". stop stops the configuration before the test ends.
func provisionedIn(tb testing.TB, dir, config string) (h *Handler, stop func()) {
	tb.Helper()
	shared := &caddy.Config{Admin: &caddy.AdminConfig{Disabled: true}}
	if dir != "" {
		shared.StorageRaw = json.RawMessage(fmt.Sprintf(`{"module": "file_system", "root": %q}`, dir))
	}
	ctx, err := caddy.ProvisionContext(shared)
	if err != nil {
		tb.Fatal(err)
	}
	h = new(Handler)
	if err := json.Unmarshal([]byte(config), h); err != nil {
		tb.Fatal(err)
	}
	if err := h.Provision(ctx); err != nil {
		tb.Fatal(err)
	}
	if err := h.app.Start(); err != nil {
		tb.Fatal(err)
	}
	stop = sync.OnceFunc(func() { _ = errors.Join(h.app.Stop(), h.Cleanup(), h.app.Cleanup()) })
	tb.Cleanup(stop)
	return h, stop
}

// BenchmarkHandler measures what the handler adds to a request: with three zones and 1000 warm
// keys, for a rejection, if no zone matches, and with a thousand zones of which one matches the
// path. impl=next is the request without the handler.
func BenchmarkHandler(b *testing.B) {
	three := provisioned(b, `{"rate_limits": {
		"user":   {"key": "{http.request.header.X-Api-Key}", "limit": {"events": 1000000000, "window": "1m"}},
		"tenant": {"key": "{http.request.header.X-Tenant}", "limit": {"events": 1000000000, "window": "1m"}},
		"ip":     {"key": "{http.vars.client_ip}", "limit": {"events": 1000000000, "window": "1m"}}}}`)
	exhausted := provisioned(b, `{"rate_limits": {"full": {"key": "all", "limit": {"events": 1, "window": "24h"}}}}`)
	unmatched := provisioned(b, `{"rate_limits": {"put": {"key": "all", "limit": {"events": 1, "window": "24h"},
		"match": [{"method": ["PUT"]}]}}}`)
	var paths []string
	for i := range 1000 {
		path := fmt.Sprintf("/a%d/*", i)
		if i == 500 {
			path = "/*"
		}
		paths = append(paths, fmt.Sprintf(`"path-%d": {"key": "{http.request.header.X-Api-Key}",
			"limit": {"events": 1000000000, "window": "1m"}, "match": [{"path": [%q]}]}`, i, path))
	}
	thousandPaths := provisioned(b, `{"rate_limits": {`+strings.Join(paths, ",")+`}}`)
	next := caddyhttp.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) error {
		w.WriteHeader(http.StatusOK)
		return nil
	})
	for _, bb := range []struct {
		name  string
		serve caddyhttp.MiddlewareHandler
	}{{"next", nil}, {"three-zones", three}, {"rejected", exhausted}, {"no-match", unmatched}, {"thousand-paths", thousandPaths}} {
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

// BenchmarkOverrides measures what 100,000 overrides of other keys, and overrides of the keys
// themselves, add to a request: once with few keys, whose entries stay in the processor's caches,
// and once with many. The same handler serves the same requests. The variants take turns, and the
// quickest batch of each counts, so that other programs disturb it little. "own" overrides have
// different limits, "equal" ones the same limit.
func BenchmarkOverrides(b *testing.B) {
	const batch, n = 100, 100_000
	h := provisioned(b, `{"rate_limits": {"bench": {"key": "{http.request.header.X-Api-Key}", "limit": "1000000000/1m"}}}`)
	document := func(key, limit string) *rules.Document {
		d := new(rules.Document)
		for i := range n {
			d.Overrides = append(d.Overrides, &rules.Override{
				Entry: rules.Entry{ID: strconv.Itoa(i), ExpiresAt: new(time.Now().Add(time.Hour))},
				Key:   rules.Key{Zone: "bench", Text: key + strconv.Itoa(i)}, Limit: strings.ReplaceAll(limit, "N", strconv.Itoa(n+i)),
			})
		}
		return d
	}
	var variants []*zone.Snapshot
	for i, d := range []*rules.Document{{}, document("other-", "N000/1m"), document("key-", "1000000000/1m burst 1N"),
		document("key-", "1000000000/1m burst 2000000000")} {
		h.app.applying.Lock()
		variants = append(variants, h.app.applyLocked(&rules.Version{Number: int64(i), Document: d}))
		h.app.applying.Unlock()
	}
	names := []string{"none", "others", "own", "equal"}
	for _, keys := range []int{1, n} {
		b.Run("keys="+strconv.Itoa(keys), func(b *testing.B) {
			texts := make([]string, keys)
			for i := range texts {
				texts[i] = "key-" + strconv.Itoa(i*7919%n)
			}
			next := 0
			var requests [batch]*http.Request
			var writers [batch]*benchWriter
			serve := func(s *zone.Snapshot, count int) time.Duration {
				h.app.inForce.Store(s)
				var took time.Duration
				for range count / batch {
					for i := range requests {
						requests[i], writers[i] = benchRequest(texts[next]), newBenchWriter()
						next = (next + 1) % keys
					}
					start := time.Now()
					for i := range requests {
						_ = h.ServeHTTP(writers[i], requests[i], handlerThatWritesNothing)
					}
					took += time.Since(start)
				}
				return took
			}
			for _, s := range variants {
				serve(s, max(batch, keys))
			}
			var least [4]time.Duration // the quickest batch of each variant
			for round := 0; b.Loop(); round++ {
				for turn := range variants {
					i := (round + turn) % len(variants)
					if took := serve(variants[i], batch); least[i] == 0 || took < least[i] {
						least[i] = took
					}
				}
			}
			b.ReportMetric(float64(least[0].Nanoseconds())/batch, "ns-with-none")
			for i := 1; i < len(variants); i++ {
				b.ReportMetric(float64((least[i]-least[0]).Nanoseconds())/batch, "ns-more-with-"+names[i])
			}
		})
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
