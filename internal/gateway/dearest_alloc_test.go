//go:build !race

package gateway

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// zonesOf returns a handler with a number of zones, each with settings in which %d is its number.
func zonesOf(tb testing.TB, n int, settings string) *Handler {
	tb.Helper()
	var zones []string
	for i := range n {
		zones = append(zones, fmt.Sprintf(`"z%d": {"key": "{http.request.header.X-Api-Key}", "limit": "1000000000/1m", %s}`, i,
			strings.ReplaceAll(settings, "%d", fmt.Sprint(i))))
	}
	return provisioned(tb, `{"rate_limits": {`+strings.Join(zones, ",")+`}}`)
}

// A path with several readings costs the same, whatever the number of zones and handlers: its
// readings are found once for a request.
func TestPathIsReadOnceForAllZonesAlloc(t *testing.T) {
	hostile, err := url.ParseRequestURI("/" + strings.Repeat("a%2fb;c/", 40) + strings.Repeat("abcd", 700))
	if err != nil {
		t.Fatal(err)
	}
	allocations := func(u *url.URL, handlers ...*Handler) float64 {
		var next caddyhttp.Handler = handlerThatWritesNothing
		for _, h := range handlers {
			inner := next
			next = caddyhttp.HandlerFunc(func(w http.ResponseWriter, r *http.Request) error { return h.ServeHTTP(w, r, inner) })
		}
		return testing.AllocsPerRun(50, func() {
			r := benchRequest("k")
			r.URL = u
			if err := next.ServeHTTP(newBenchWriter(), r); err != nil {
				t.Fatal(err)
			}
		})
	}
	for _, settings := range []string{
		`"match": [{"path": ["/v%d/*", "*/x/*"]}, {"not": [{"path": ["/v%d/*"]}], "method": ["GET"]}]`,
		`"endpoints": [{"path": "/v%d/*/x", "limit": "5/1m"}, {"path": "*/admin/*", "limit": "5/1m"}]`,
	} {
		one, ten := zonesOf(t, 1, settings), zonesOf(t, 10, settings)
		few := allocations(hostile, one) - allocations(benchURL, one)
		many := allocations(hostile, ten, ten, ten) - allocations(benchURL, ten, ten, ten)
		t.Logf("allocations more than for a plain path: %v in a zone, %v in ten zones of three handlers", few, many)
		if few < 10 || many > few+10 {
			t.Errorf("%s: the path costs %v allocations in one zone and %v in ten zones of three handlers, want the same", settings, few, many)
		}
	}
}
