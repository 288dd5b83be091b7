//go:build !race

package fleetlimit

import (
	"net/http"
	"testing"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// What a request costs beyond its own memory: the record, the function that answers its placeholders, its place in the
// replacer, and one string of which all header values are parts. The race detector allocates, so this one runs without it.
func TestHandlerAllocatesLittle(t *testing.T) {
	const want = 4
	serve := func(h caddyhttp.MiddlewareHandler) float64 {
		return testing.AllocsPerRun(1000, func() { _ = h.ServeHTTP(newBenchWriter(), benchRequest("k"), handlerThatWritesNothing) })
	}
	request := serve(passing{})
	for _, test := range []struct{ name, zones string }{
		{"rejected", `{"alloc": {"key": "all", "limit": {"events": 1, "window": "24h"}}}`},
		{"three zones", `{
			"alloc-1": {"key": "{http.request.header.X-Api-Key}", "limit": {"events": 1000000000, "window": "1m"}},
			"alloc-2": {"key": "{http.request.header.X-Tenant}", "limit": {"events": 1000000000, "window": "1m"}},
			"alloc-3": {"key": "{http.vars.client_ip}", "limit": {"events": 1000000000, "window": "1m"}}}`},
	} {
		h := provisioned(t, `{"log_rejections": "none", "rate_limits": `+test.zones+`}`)
		if got := serve(h) - request; got > want {
			t.Errorf("allocations per request, %s = %v, want at most %d", test.name, got, want)
		}
	}
}

// passing is a handler that does nothing.
type passing struct{}

func (passing) ServeHTTP(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
	return next.ServeHTTP(w, r)
}
