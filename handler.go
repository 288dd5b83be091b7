package fleetlimit

import (
	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetlimit/fleetlimit/internal/gateway"
)

// Handler limits the rate of requests. Each of its zones counts requests by a key, such as an API key or the
// client's address. If all zones that match a request allow it, it is admitted and counted in each of them.
// Otherwise it is rejected with 429 and counted in none.
//
// Counts survive config reloads. They are kept in the memory of this process, or in a Redis that all nodes of
// a fleet share if the rate_limit app names one. While that Redis does not answer, `on_outage` decides: by
// default, each node keeps to its share of the limit.
//
// Responses have the headers `X-RateLimit-Limit`, `-Remaining` and `-Reset`, and the IETF's `RateLimit` and
// `RateLimit-Policy`. If a request could not be counted, they have `X-RateLimit-Remaining: -1` and
// `X-RateLimit-Policy: degraded`. Later handlers and logs can use the placeholders
// `{http.rate_limit.<zone>.limit}`, `.remaining`, `.reset` and `.source`, which are empty for a zone that did
// not apply. For a rejected request, `{http.rate_limit.exceeded.name}` is the name of the zone that rejects
// it.
type Handler struct {
	gateway.Handler // what operators write, and what runs
}

// CaddyModule returns the Caddy module information.
func (*Handler) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "http.handlers.rate_limit",
		New: func() caddy.Module { return new(Handler) },
	}
}

// Interface guards.
var (
	_ caddy.Provisioner           = (*Handler)(nil)
	_ caddy.CleanerUpper          = (*Handler)(nil)
	_ caddyhttp.MiddlewareHandler = (*Handler)(nil)
)
