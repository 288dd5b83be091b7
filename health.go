package fleetlimit

import (
	"net/http"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetlimit/fleetlimit/internal/caddyread/subdirective"
	"github.com/fleetlimit/fleetlimit/internal/gateway"
)

// HealthHandler answers health checks, so that a load balancer can ask a node that does not offer
// it the admin endpoint: 200 with `{"status":"ok"}`, or 503 with the status `draining` or
// `degraded`. Answers name no store and no address, because anybody may ask. The admin endpoint has
// those, at `/rate_limit/health/ready`.
type HealthHandler struct {
	// What is asked. `live` is ok as long as Caddy answers. `serving` is draining from the instant at
	// which Caddy begins to shut down, which `shutdown_delay` puts off: it is for load balancers.
	// `ready` is that too, and degraded while a primary of Redis has an open circuit breaker or takes
	// longer than 100 ms to answer, while none is known, and until rules were read once. Default: `ready`.
	Probe string `json:"probe,omitempty"`
}

// CaddyModule returns the Caddy module information.
func (*HealthHandler) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "http.handlers.rate_limit_health",
		New: func() caddy.Module { return new(HealthHandler) },
	}
}

// Validate checks the configuration.
func (h *HealthHandler) Validate() error { return gateway.CheckProbe(h.Probe) }

// ServeHTTP implements caddyhttp.MiddlewareHandler. It never calls the next handler.
func (h *HealthHandler) ServeHTTP(w http.ResponseWriter, r *http.Request, _ caddyhttp.Handler) error {
	return gateway.ServeHealth(w, r, h.Probe)
}

// parseHealthDirective parses
//
//	rate_limit_health [<matcher>] [live | serving | ready]
func parseHealthDirective(helper httpcaddyfile.Helper) (caddyhttp.MiddlewareHandler, error) {
	const usage = "rate_limit_health [<matcher>] [live | serving | ready]"
	h := new(HealthHandler)
	helper.Next()
	directive := subdirective.Here(helper.Dispenser)
	switch args := helper.RemainingArgs(); len(args) {
	case 0:
	case 1:
		h.Probe = args[0]
		if h.Probe == "" || gateway.CheckProbe(h.Probe) != nil {
			return nil, helper.Errf("unexpected %q: use `%s`, where a matcher is *, a path that starts with /, or @<name>",
				h.Probe, usage)
		}
	default:
		return nil, helper.Errf("unexpected %q: use `%s`", args[1], usage)
	}
	if helper.NextBlock(helper.Nesting()) {
		return nil, directive.Errf("rate_limit_health has no block: use `%s`", usage)
	}
	return h, nil
}

// Interface guards.
var (
	_ caddy.Validator             = (*HealthHandler)(nil)
	_ caddyhttp.MiddlewareHandler = (*HealthHandler)(nil)
)
