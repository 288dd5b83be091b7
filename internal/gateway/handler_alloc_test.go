//go:build !race

package gateway

import (
	"context"
	"net/http"
	"testing"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/internal/observe/decisionlog"
	"github.com/fleetlimit/fleetlimit/internal/observe/tail"
)

// The handler allocates four times per request: the state, the function that returns placeholders,
// the list of such functions in the replacer, and one string that holds all header values. If no
// zone matches, only the function and the list are allocated. A rejection sets the ninth header,
// for which Go's map grows. The race detector allocates, too, so this test runs without it.
func TestHandlerAllocatesLittle(t *testing.T) {
	serve := func(h caddyhttp.MiddlewareHandler) float64 {
		return testing.AllocsPerRun(1000, func() { _ = h.ServeHTTP(newBenchWriter(), benchRequest("k"), handlerThatWritesNothing) })
	}
	for _, test := range []struct {
		name     string
		baseline caddyhttp.MiddlewareHandler
		want     float64
		zones    string
	}{
		{"rejected", nineHeaders{}, 4, `{"alloc": {"key": "all", "limit": {"events": 1, "window": "24h"}}}`},
		{"no zone matches", passing{}, 2, `{
			"alloc-0": {"key": "all", "limit": {"events": 1, "window": "24h"}, "match": [{"method": ["PUT"]}]}}`},
		{"three zones", passing{}, 4, `{
			"alloc-1": {"key": "{http.request.header.X-Api-Key}", "limit": {"events": 1000000000, "window": "1m"}},
			"alloc-2": {"key": "{http.request.header.X-Tenant}", "limit": {"events": 1000000000, "window": "1m"}},
			"alloc-3": {"key": "{http.vars.client_ip}", "limit": {"events": 1000000000, "window": "1m"}}}`},
		{"endpoints", passing{}, 4, `{"alloc-endpoints": {"key": "{http.request.header.X-Api-Key}",
			"limit": {"events": 1000000000, "window": "1m"}, "match": [{"path": ["/*"]}], "endpoints": [
			{"path": "/a/*", "limit": "5/1m"}, {"path": "*.json", "limit": "5/1m"}, {"path": "/users/*/b", "cost": 5}]}}`},
		{"may wait", passing{}, 4, `{"alloc-wait": {"key": "{http.request.header.X-Api-Key}",
			"limit": {"events": 1000000000, "window": "1m"}, "wait": "1s"}}`},
		{"compared", passing{}, 4, `{"alloc-compared": {"key": "{http.request.header.X-Api-Key}",
			"limit": {"events": 1000000000, "window": "1m"}, "compare": {"limit": "5/1m", "algorithm": "fixed_window"}}}`},
	} {
		h := provisioned(t, `{"log_rejections": "none", "rate_limits": `+test.zones+`}`)
		if got := serve(h) - serve(test.baseline); got > test.want {
			t.Errorf("allocations per request, %s = %v, want at most %v", test.name, got, test.want)
		}
	}
}

// A tail that wants none of the decisions costs no allocation either.
func TestTailOfOthersAllocatesNothing(t *testing.T) {
	h := provisioned(t, `{"rate_limits": {
		"tail-alloc": {"key": "{http.request.header.X-Api-Key}", "limit": {"events": 1000000000, "window": "1m"}}}}`)
	serve := func() float64 {
		return testing.AllocsPerRun(1000, func() { _ = h.ServeHTTP(newBenchWriter(), benchRequest("k"), handlerThatWritesNothing) })
	}
	alone, followed := serve(), 0.0
	for _, f := range []tail.DecisionFilter{
		{Sample: 0}, {Sample: 1, Zones: []string{"other"}}, {Sample: 1, Keys: map[string][][]byte{"tail-alloc": {[]byte("other")}}},
	} {
		follow(f, func() { followed = serve() })
		if followed > alone {
			t.Errorf("allocations per request with a tail of %+v = %v, want %v", f, followed, alone)
		}
	}
}

// Decisions that are not recorded cost no allocation.
func TestUnrecordedDecisionsAllocateNothing(t *testing.T) {
	h := provisioned(t, `{"rate_limits": {
		"record-alloc": {"key": "{http.request.header.X-Api-Key}", "limit": {"events": 1000000000, "window": "1m"}}}}`)
	serve := func() float64 {
		return testing.AllocsPerRun(1000, func() { _ = h.ServeHTTP(newBenchWriter(), benchRequest("k"), handlerThatWritesNothing) })
	}
	alone := serve()
	none := config.Fraction(0)
	target, err := decisionlog.Resolve(&config.DecisionLog{Admitted: &none}, nil)
	if err != nil {
		t.Fatal(err)
	}
	recorded, release := target.Acquire("node", reports)
	defer release()
	h.requests.Reports = reports.Requests(h.log, &h.Handler, recorded)
	if drawn := serve(); drawn > alone {
		t.Errorf("allocations per request when its decision is not drawn = %v, want %v", drawn, alone)
	}
}

// withServer returns a request as a server with these access logs hands it to handlers. logs is nil
// if the server has no access log.
func withServer(logs *caddyhttp.ServerLogConfig) *http.Request {
	r := benchRequest("k")
	ctx := context.WithValue(r.Context(), caddyhttp.ServerCtxKey, &caddyhttp.Server{Logs: logs})
	return r.WithContext(context.WithValue(ctx, caddyhttp.ExtraLogFieldsCtxKey, new(caddyhttp.ExtraLogFields)))
}

// The field of access logs costs five allocations, and nothing for a server without access logs.
func TestAccessLogFieldAllocatesLittle(t *testing.T) {
	h := provisioned(t, `{"rate_limits": {
		"access-log": {"key": "{http.request.header.X-Api-Key}", "limit": {"events": 1000000000, "window": "1m"}}}}`)
	for _, tc := range []struct {
		name string
		logs *caddyhttp.ServerLogConfig
		want float64
	}{{"without access logs", nil, 4}, {"with access logs", new(caddyhttp.ServerLogConfig), 9}} {
		serve := func(h caddyhttp.MiddlewareHandler) float64 {
			return testing.AllocsPerRun(1000, func() { _ = h.ServeHTTP(newBenchWriter(), withServer(tc.logs), handlerThatWritesNothing) })
		}
		if got := serve(h) - serve(passing{}); got > tc.want {
			t.Errorf("allocations per request %s = %v, want at most %v", tc.name, got, tc.want)
		}
	}
}

// passing is a handler that does nothing.
type passing struct{}

func (passing) ServeHTTP(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
	return next.ServeHTTP(w, r)
}

// nineHeaders is a handler that sets eight headers. With Server, the response has nine.
type nineHeaders struct{}

// headerValue is allocated once.
var headerValue = []string{"a"}

func (nineHeaders) ServeHTTP(w http.ResponseWriter, _ *http.Request, _ caddyhttp.Handler) error {
	for _, name := range [...]string{"A", "B", "C", "D", "E", "F", "G", "H"} {
		w.Header()[name] = headerValue
	}
	return nil
}
