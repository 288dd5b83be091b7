package fleetlimit

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetlimit/fleetlimit/internal/adminapi"
	"github.com/fleetlimit/fleetlimit/internal/subdirective"
	"github.com/fleetlimit/fleetlimit/redisconn"
)

// maxLatency is how long a primary may take to answer while the node is ready.
const maxLatency = 100 * time.Millisecond

// readReadiness returns the health of the stores now. It reads what the breakers know, and asks no
// Redis, so that health checks are fast and cannot load it.
func readReadiness() adminapi.Readiness {
	r := adminapi.Readiness{Status: adminapi.HealthOK, Stores: []adminapi.StoreHealth{}}
	if caddy.Exiting() {
		r.Status = adminapi.HealthDraining
	}
	for _, s := range pooledStores() {
		if s.breakers != nil {
			store := newStoreHealth(s.name, s.breakers(), s.lookupErr())
			r.Status = r.Status.Worse(store.Status)
			r.Stores = append(r.Stores, store)
		}
	}
	slices.SortFunc(r.Stores, func(a, b adminapi.StoreHealth) int { return cmp.Compare(a.Store, b.Store) })
	return r
}

// newStoreHealth returns the health of a store. lookupErr is why its primaries cannot be looked up.
func newStoreHealth(name string, breakers []redisconn.Breaker, lookupErr error) adminapi.StoreHealth {
	s := adminapi.StoreHealth{Store: name, Status: adminapi.HealthOK, Primaries: []adminapi.PrimaryHealth{}}
	switch {
	case lookupErr != nil:
		s.Status, s.Error = adminapi.HealthDegraded, fmt.Sprintf("the primaries cannot be looked up: %v", lookupErr)
	case len(breakers) == 0:
		s.Status, s.Error = adminapi.HealthDegraded, "no primary is known"
	}
	for _, b := range breakers {
		p := newPrimaryHealth(b)
		s.Status = s.Status.Worse(p.Status)
		s.Primaries = append(s.Primaries, p)
	}
	return s
}

func newPrimaryHealth(b redisconn.Breaker) adminapi.PrimaryHealth {
	p := adminapi.PrimaryHealth{
		Address: b.Addr, Status: adminapi.HealthOK, Breaker: b.State.String(), LatencyMS: float64(b.Latency.Microseconds()) / 1000,
	}
	switch {
	case b.State != redisconn.Closed:
		p.Status, p.Error = adminapi.HealthDegraded, b.Err.Error()
	case b.Latency > maxLatency:
		p.Status, p.Error = adminapi.HealthDegraded, fmt.Sprintf("its newest answer took longer than %v", maxLatency)
	}
	return p
}

// HealthHandler answers health checks, so that a load balancer can ask a node that does not offer
// it the admin endpoint: 200 with `{"status":"ok"}`, or 503 with the status `draining` or
// `degraded`. Answers name no store and no address, because anybody may ask. The admin endpoint has
// those, at `/rate_limit/health/ready`.
type HealthHandler struct {
	// What is asked. `live` is ok as long as Caddy answers. `serving` is draining from the instant at
	// which Caddy begins to shut down, which `shutdown_delay` puts off: it is for load balancers.
	// `ready` is that too, and degraded while a primary of Redis has an open circuit breaker or takes
	// longer than 100 ms to answer, and while none is known. Default: `ready`.
	Probe string `json:"probe,omitempty"`
}

// The values of HealthHandler.Probe.
const (
	probeLive    = "live"
	probeServing = "serving"
	probeReady   = "ready"
)

// CaddyModule returns the Caddy module information.
func (*HealthHandler) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "http.handlers.rate_limit_health",
		New: func() caddy.Module { return new(HealthHandler) },
	}
}

// Validate checks the configuration.
func (h *HealthHandler) Validate() error {
	if h.Probe != "" && !isProbe(h.Probe) {
		return fmt.Errorf("probe is %q: use live, serving or ready", h.Probe)
	}
	return nil
}

func isProbe(text string) bool {
	return text == probeLive || text == probeServing || text == probeReady
}

// ServeHTTP implements caddyhttp.MiddlewareHandler. It never calls the next handler.
func (h *HealthHandler) ServeHTTP(w http.ResponseWriter, r *http.Request, _ caddyhttp.Handler) error {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		return caddyhttp.Error(http.StatusMethodNotAllowed, fmt.Errorf("a health check with %s: use GET or HEAD", r.Method))
	}
	status := adminapi.HealthOK
	if h.Probe != probeLive && draining(r) {
		status = adminapi.HealthDraining
	} else if h.Probe != probeLive && h.Probe != probeServing {
		status = readReadiness().Status
	}
	adminapi.WriteHealth(w, status, adminapi.Health{Status: status})
	return nil
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
		if !isProbe(h.Probe) {
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
