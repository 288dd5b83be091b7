// Package fleetlimit is a Caddy plugin that limits the rate of requests: the `rate_limit` handler and the app of the same
// name that holds what its handlers share.
//
// The package is the adapter between Caddy and package limiter, which decides. One file holds one concern:
//
//	config*.go           the JSON configuration
//	caddyfile*.go        the Caddyfile grammar: the directive, the global option, zones, endpoints, limits
//	app.go               what the handlers of a configuration share
//	handler.go, record.go, scratch.go
//	                     one request, and its state
//	addressfilter.go     which client addresses are exempt or denied
//	key*.go, reader*.go, placeholder.go
//	                     whose count a request uses
//	zone.go, policy.go, rule.go, tier.go, endpoint.go, cost.go, enforcement.go, legacy.go
//	                     a zone, compiled
//	header.go, writer.go, trailer.go, reject.go, body.go, said.go
//	                     what responses say
//	report.go, metrics*.go, tally.go
//	                     what operators see
//	pool.go, store.go    what outlives a configuration
//	redis*.go, nodes.go  where a fleet keeps its counts
//	degraded.go, health.go
//	                     what happens when the store does not answer
package fleetlimit

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyevents"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"go.uber.org/zap"
)

func init() {
	caddy.RegisterModule(new(App))
	caddy.RegisterModule(Handler{})
}

// Handler limits the rate of requests. Each of its zones counts the requests that match it by a key, such as an API key or
// the client's address, and the request passes when every zone has room for it; it is then counted in all of them, and
// otherwise in none and answered with 429.
//
// Counts survive config reloads. They are kept in the memory of this process, or, when the rate_limit app names one, in a
// Redis that all nodes of a fleet share. While that does not answer, requests are admitted without being counted.
//
// Responses say what is left in `X-RateLimit-Limit`, `-Remaining` and `-Reset` and in the IETF's `RateLimit` and
// `RateLimit-Policy`, or, when a request could not be counted, `X-RateLimit-Remaining: -1` and `X-RateLimit-Policy:
// degraded`. Later handlers and logs can read `{http.rate_limit.<zone>.limit}`, `.remaining`, `.reset` and
// `.source`, and on a rejection the name of the zone from `{http.rate_limit.exceeded.name}`.
type Handler struct {
	// The zones by name. Names are 1 to 64 of the characters A-Z, a-z, 0-9, `_`, `.` and `-`. A request takes from all
	// zones that match it, or from none.
	Zones map[string]*Zone `json:"rate_limits,omitempty"`

	// Client addresses and ranges that no zone limits.
	Allow []string `json:"allow,omitempty"`

	// Client addresses and ranges that are answered with 403.
	Deny []string `json:"deny,omitempty"`

	// Which headers responses get: `x` for X-RateLimit-Limit, -Remaining and -Reset, `draft` for RateLimit and
	// RateLimit-Policy (IETF draft-ietf-httpapi-ratelimit-headers-11), `all` or `none`. Default: `all`.
	Headers string `json:"headers,omitempty"`

	// How requests are rejected: `json` or `problem` (RFC 9457) write a body, `error` hands over to the error routes.
	// Default: `json`; `error` for zones in the syntax of caddy-ratelimit.
	Reject string `json:"reject,omitempty"`

	// Which rejections are logged: the `first` of each key and window, `all` or `none`. Default: `first`; `all` for zones
	// in the syntax of caddy-ratelimit.
	LogRejections string `json:"log_rejections,omitempty"`

	// Log the key of rejected requests. Default: false, as keys may be secrets.
	LogKey bool `json:"log_key,omitempty"`

	// Lengthens each Retry-After at random by up to this fraction of it, 0 to 1, so that clients do not all come back
	// at once. Default: 0.
	Jitter float64 `json:"jitter,omitempty"`

	// Accepted so that configurations of caddy-ratelimit load unchanged; not used.
	SweepInterval caddy.Duration `json:"sweep_interval,omitempty"`

	// Accepted so that configurations of caddy-ratelimit load unchanged; not used.
	Distributed *Distributed `json:"distributed,omitempty"`

	// Accepted so that configurations of caddy-ratelimit load unchanged; not used.
	StorageRaw json.RawMessage `json:"storage,omitempty" caddy:"namespace=caddy.storage inline_key=module"`

	// Do not offer metrics, unless another rate_limit handler does.
	DisableMetrics bool `json:"disable_metrics,omitempty"`

	ctx          caddy.Context // for events
	app          *App
	addresses    addressFilter
	zones        []*zone // by name, so that headers list them in a stable order
	headers      headerSet
	rejectAs     rejectStyle
	rejectionLog rejectionLog
	logger       *zap.Logger
	events       *caddyevents.App
	releaseList  []func() // gives back exactly what Provision acquired
}

// CaddyModule returns the Caddy module information.
func (Handler) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "http.handlers.rate_limit",
		New: func() caddy.Module { return new(Handler) },
	}
}

// Provision compiles the handler's configuration. It changes no count that an earlier configuration uses.
func (h *Handler) Provision(ctx caddy.Context) error {
	app, err := ctx.App(appName)
	if err != nil {
		return fmt.Errorf("loading the rate_limit app: %w", err)
	}
	events, err := ctx.App("events")
	if err != nil {
		return fmt.Errorf("loading the events app: %w", err)
	}
	h.app, h.events = app.(*App), events.(*caddyevents.App)
	h.ctx, h.logger = ctx, ctx.Logger()

	// Metrics come first: Caddy's admin endpoint shows the registry of the last configuration it tried, and it should not
	// be without them because a zone further down is refused.
	if !h.DisableMetrics {
		if err := registerMetrics(ctx.GetMetricsRegistry()); err != nil {
			return fmt.Errorf("registering metrics: %w", err)
		}
	}
	if err := h.provisionSettings(); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(h.Zones)) {
		z, err := h.provisionZone(ctx, name, h.Zones[name])
		if err != nil {
			return fmt.Errorf("zone %q: %w", name, err)
		}
		h.zones = append(h.zones, z)
	}
	h.warnUnused()
	return nil
}

// provisionSettings resolves what is not about zones.
func (h *Handler) provisionSettings() (err error) {
	if len(h.Zones) == 0 && len(h.Allow) == 0 && len(h.Deny) == 0 {
		return fmt.Errorf("rate_limit has nothing to do: add a zone, `allow` or `deny`")
	}
	if h.headers, err = parseHeaderSet(firstOf(h.Headers, h.app.defaults.Headers)); err != nil {
		return err
	}
	if h.rejectAs, err = parseRejectStyle(firstOf(h.Reject, h.app.defaults.Reject)); err != nil {
		return err
	}
	if h.rejectionLog, err = parseRejectionLog(h.LogRejections); err != nil {
		return err
	}
	if h.Jitter < 0 || h.Jitter > 1 {
		return fmt.Errorf("jitter is %v: say a fraction from 0 to 1, such as 0.2 for 20%%", h.Jitter)
	}
	h.addresses, err = newAddressFilter(h.Allow, h.Deny)
	return err
}

// provisionZone compiles a zone and acquires its counts.
func (h *Handler) provisionZone(ctx caddy.Context, name string, config *Zone) (*zone, error) {
	if config == nil {
		return nil, fmt.Errorf("is empty: it needs at least `key` and `limit`")
	}
	matchers, err := loadMatchers(ctx, config)
	if err != nil {
		return nil, err
	}
	if err := h.app.define(name, config, h.logger); err != nil {
		return nil, err
	}
	state, handle, release := acquireZone(h.app.store, name)
	h.releaseList = append(h.releaseList, release)
	z, err := newZone(name, config, h.app, handle)
	if err != nil {
		return nil, err
	}
	z.matchers, z.zoneState = matchers, state
	h.app.mu.Lock()
	h.app.zones = append(h.app.zones, z)
	h.app.mu.Unlock()
	return z, nil
}

func loadMatchers(ctx caddy.Context, config *Zone) (caddyhttp.MatcherSets, error) {
	if len(config.MatcherSetsRaw) == 0 {
		return nil, nil
	}
	loaded, err := ctx.LoadModule(config, "MatcherSetsRaw")
	if err != nil {
		return nil, fmt.Errorf("loading matchers: %w", err)
	}
	var sets caddyhttp.MatcherSets
	if err := sets.FromInterface(loaded); err != nil {
		return nil, fmt.Errorf("loading matchers: %w", err)
	}
	return sets, nil
}

// warnUnused says which accepted settings have no effect.
func (h *Handler) warnUnused() {
	inRedis := h.app.Redis != nil
	switch {
	case h.Distributed == nil:
	case inRedis:
		h.logger.Warn("`distributed` is accepted and not used: the nodes share their counts in Redis")
	default:
		h.logger.Warn("counts are per node: N nodes admit N times the limit; `distributed` is accepted and not used: add " +
			"`redis` to the global option rate_limit to share counts")
	}
	switch {
	case len(h.StorageRaw) == 0:
	case inRedis:
		h.logger.Warn("`storage` is accepted and not used: counts live in Redis")
	default:
		h.logger.Warn("`storage` is accepted and not used: counts live in the memory of this process")
	}
}

// Cleanup gives back what Provision acquired, whether or not Provision succeeded. Requests of this configuration may still
// be running: they keep the zones' counts alive through their own references.
func (h *Handler) Cleanup() error {
	for _, release := range h.releaseList {
		release()
	}
	h.releaseList = nil
	return nil
}

// firstOf returns the first of the values that is not empty.
func firstOf(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

// Interface guards.
var (
	_ caddy.Provisioner           = (*Handler)(nil)
	_ caddy.CleanerUpper          = (*Handler)(nil)
	_ caddyhttp.MiddlewareHandler = (*Handler)(nil)
)
