// Command floor is Caddy with a handler named floor, which writes the same response as a rejection
// by rate_limit and does nothing else. No limiter with these headers and this body can be faster.
// bench/gateway measures it.
package main

import (
	"net/http"
	"slices"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	caddycmd "github.com/caddyserver/caddy/v2/cmd"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	_ "github.com/caddyserver/caddy/v2/modules/standard"
)

func init() {
	caddy.RegisterModule(floor{})
	httpcaddyfile.RegisterHandlerDirective("floor", func(httpcaddyfile.Helper) (caddyhttp.MiddlewareHandler, error) {
		return floor{}, nil
	})
	httpcaddyfile.RegisterDirectiveOrder("floor", httpcaddyfile.Before, "respond")
}

func main() { caddycmd.Main() }

type floor struct{}

// CaddyModule implements caddy.Module.
func (floor) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "http.handlers.floor", New: func() caddy.Module { return new(floor) }}
}

// ServeHTTP implements caddyhttp.MiddlewareHandler.
func (floor) ServeHTTP(w http.ResponseWriter, _ *http.Request, _ caddyhttp.Handler) error {
	header := w.Header()
	for i := range headers {
		header[headers[i].name] = headers[i].values
	}
	w.WriteHeader(http.StatusTooManyRequests)
	_, _ = w.Write(body)
	return nil
}

// headers and body are those of a rejection in the default settings, for a key that has spent its limit of
// one request a day.
var (
	headers = []struct {
		name   string
		values []string
	}{
		{"X-Ratelimit-Limit", value("1")},
		{"X-Ratelimit-Remaining", value("0")},
		{"X-Ratelimit-Reset", value("1795396214")},
		{"Ratelimit-Policy", value(`"api_key";q=1;w=86400`)},
		{"Ratelimit", value(`"api_key";r=0;t=86400`)},
		{"Retry-After", value("86400")},
		{"Cache-Control", value("no-store")},
		{"Content-Type", value("application/json")},
	}
	body = []byte(`{"error":{"code":"RATE_LIMIT_EXCEEDED",` +
		`"message":"Rate limit of 1 request per day exceeded","details":{"zone":"api_key","limit":1,` +
		`"window_seconds":86400,"retry_after_seconds":86400,"reset_at":"2026-11-23T01:10:14Z"}}}` + "\n")
)

// value returns a header value without spare capacity, so that appending to it makes a copy.
func value(s string) []string { return slices.Clip([]string{s}) }
