package fleetlimit

import (
	"net/http"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetlimit/fleetlimit/internal/caddyread/subdirective"
	"github.com/fleetlimit/fleetlimit/internal/gateway"
)

// HealthHandler answers health checks of load balancers that cannot reach the admin endpoint: with 200 and
// `{"status":"ok"}`, or with 503 and the status `draining` or `degraded`. Its answers name no store and no
// address, because anybody may ask. The admin endpoint names them, at `/rate_limit/health/ready`.
type HealthHandler struct {
	// The probe that is answered. `live` is ok as long as Caddy answers. `serving` is for load balancers: it
	// is draining as soon as Caddy begins to shut down, and `shutdown_delay` gives them the time to notice.
	// `ready` is draining then, too. It is degraded while a primary of Redis has an open circuit breaker or
	// takes longer than 100 ms to answer, while no primary is known, and until the rules were read once.
	// Default: `ready`.
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
