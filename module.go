// Package fleetlimit is a Caddy plugin that limits the rate of requests: the `rate_limit` handler,
// and the app of the same name that holds what the handlers of a configuration share.
//
// The package adapts Caddy to package limiter, which decides. Each file holds one idea:
//
//	module.go         the handler: its options, and how it is provisioned
//	app.go            the app: what the handlers of a configuration share
//	appzone.go        zones that are defined once, in the app
//	config.go         the JSON configuration of both
//	config_json.go    the text forms that it accepts too
//	caddyfile.go      the Caddyfile grammar: the directive. The global option, zones, endpoints and
//	                  limits are in caddyfile_app.go, caddyfile_zone.go, caddyfile_endpoint.go and
//	                  caddyfile_limit.go; words of other places and programs in
//	                  caddyfile_remedy.go
//	handler.go        one request, from ServeHTTP to the store and back
//	request.go        the state of one request
//	identity.go       zones that are decided before authentication
//	routes.go         what the routes around the handlers show about zones
//	addressfilter.go  which client addresses are exempt or denied, with addressentries.go for those
//	                  of rules
//	match.go          what is probably a mistake in the matchers of a zone
//	word.go           what people write instead of the words of a setting
//	zone.go           a zone, compiled. Its parts are in rule.go, tier.go, cost.go,
//	                  missingkey.go and keylist.go; internal/keytemplate makes its keys
//	zone_rules.go     a zone as rules change it; zone_keys.go has what they say about single keys,
//	                  zone_keytable.go finds those, override.go is what becomes of their limits,
//	                  override_check.go which limits those can be, and zone_keytext.go is how
//	                  operators write keys that a store has
//	dryrun.go         zones that decide and do not reject
//	compare.go        a second limit or algorithm beside that in force
//	unknown.go        placeholders that nothing provides
//	header.go         the headers of responses
//	writer.go         when headers are set
//	reject.go         the rest of a rejection
//	forbid.go         the 403 of what is denied whatever its rate is
//	metrics.go        what Prometheus scrapes
//	log.go            what is logged, and how often
//	decisions.go      what the tails of decisions say
//	accesslog.go      the field of access logs
//	pool.go           what outlives a configuration: zones, and what they have in stores
//	store.go          the store, in memory or in Redis
//	redis.go          the options of Redis
//	rules.go          the rules in force: their versions reach the zones of running apps.
//	                  rules_store.go is where they live, rules_schema.go what they can refer to
//	outage.go         what is answered while Redis cannot decide
//	breaker.go        the circuit breakers of its primaries
//	member.go         this node as a member of a fleet
//	fleetsize.go      how many nodes a fleet has, kept in Caddy's storage
//	adminapi.go       the admin API, whose requests internal/adminapi answers: what it asks the process
//	                  for. running.go is what it asks the running configuration for, inspect.go is
//	                  what is known of a key, top.go which keys use a zone most, and counts.go
//	                  changes the counts of a key. internal/command is its client, the command
//	                  `caddy rate-limit`
//	explain.go        the limits of a zone in force, and where they are from
//	health.go         whether the node is healthy, and a handler that tells
//	emergency.go      emergency mode: a hard limit in front of everything
package fleetlimit

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/caddyserver/caddy/v2"
	caddycmd "github.com/caddyserver/caddy/v2/cmd"
	"github.com/caddyserver/caddy/v2/modules/caddyevents"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"go.uber.org/zap"

	"github.com/fleetlimit/fleetlimit/internal/command"
)

func init() {
	caddy.RegisterModule(new(App))
	caddy.RegisterModule(new(Handler))
	caddy.RegisterModule(new(HealthHandler))
	caddy.RegisterModule(adminAPI{})
	caddycmd.RegisterCommand(command.RateLimit())
}

// Handler limits the rate of requests. Each of its zones counts requests by a key, such as an API
// key or the client's address. If all zones that match a request allow it, it is admitted and
// counted in each of them. Otherwise it is rejected with 429 and counted in none.
//
// Counts survive config reloads. They are kept in the memory of this process, or in a Redis that
// all nodes of a fleet share if the rate_limit app names one. While Redis does not answer, requests
// are admitted without being counted.
//
// Responses have the headers `X-RateLimit-Limit`, `-Remaining` and `-Reset`, and the IETF's
// `RateLimit` and `RateLimit-Policy`. If a request could not be counted, they have
// `X-RateLimit-Remaining: -1` and `X-RateLimit-Policy: degraded`. Later handlers and logs can use
// the placeholders `{http.rate_limit.<zone>.limit}`, `.remaining`, `.reset` and `.source`, which are
// empty for a zone that did not apply, and for rejected requests `{http.rate_limit.exceeded.name}`,
// the name of the zone.
type Handler struct {
	// The zones by name. A name has 1 to 64 of the characters A-Z, a-z, 0-9, `_`, `.` and `-`. A
	// request takes from all zones that match it, or from none. An empty object uses the zone of that
	// name among the app's `zones`. It may have `match`, `dry_run` and `compare`, which come in place of
	// that zone's.
	Zones Zones `json:"rate_limits,omitempty"`

	// Client addresses and ranges that no zone limits.
	Allow []string `json:"allow,omitempty"`

	// Client addresses and ranges whose requests get 403.
	Deny []string `json:"deny,omitempty"`

	// The headers of responses: `x` for X-RateLimit-Limit, -Remaining and -Reset, `draft` for
	// RateLimit and RateLimit-Policy (IETF draft-ietf-httpapi-ratelimit-headers-11), `all` or `none`.
	// Default: `all`.
	Headers string `json:"headers,omitempty"`

	// How requests are rejected, with 429 or 403: `json` and `problem` (RFC 9457) write a body, `error`
	// invokes the error routes. Default: `json`, or `error` for zones in the syntax of caddy-ratelimit.
	Reject string `json:"reject,omitempty"`

	// Which rejections are logged: the `first` of each key and window, `all` or `none`. With `first`, a
	// zone logs at most ten in a second, and as many that belong to no window: 403s, and by `block`.
	// Default: `first`, or `all` for zones in the syntax of caddy-ratelimit.
	LogRejections string `json:"log_rejections,omitempty"`

	// If true, the keys of rejected requests are logged, and not only a hash of them. Default: false,
	// because keys may be secrets.
	LogKey bool `json:"log_key,omitempty"`

	// The largest fraction, 0 to 1, or percentage, such as `20%`, by which Retry-After is lengthened
	// at random, so that clients do not all return at once. Default: 0.
	Jitter Fraction `json:"jitter,omitempty"`

	// Accepted so that configurations of caddy-ratelimit load unchanged; not used.
	SweepInterval caddy.Duration `json:"sweep_interval,omitempty"`

	// Accepted so that configurations of caddy-ratelimit load unchanged; not used.
	Distributed *Distributed `json:"distributed,omitempty"`

	// Accepted so that configurations of caddy-ratelimit load unchanged; not used.
	StorageRaw json.RawMessage `json:"storage,omitempty" caddy:"namespace=caddy.storage inline_key=module"`

	// If true, the metrics are not exposed, unless another rate_limit handler exposes them.
	DisableMetrics bool `json:"disable_metrics,omitempty"`

	// The file and line of the Caddyfile that has the directive, which errors name. The Caddyfile
	// adapter sets it.
	Place string `json:"place,omitempty"`

	ctx         caddy.Context // for events
	app         *App
	addresses   addressFilter
	zones       []*zone // by name, so that headers list them in a stable order
	headers     headerSet
	rejectStyle string
	logger      *zap.Logger
	events      *caddyevents.App
	releases    []func() // release what Provision acquired

	windowless reportLimit // of the lines about 403s by the handler's own list
}

// CaddyModule returns the Caddy module information.
func (*Handler) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "http.handlers.rate_limit",
		New: func() caddy.Module { return new(Handler) },
	}
}

// Provision compiles the handler's configuration. It changes no count of an earlier configuration.
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

	// Metrics come first: Caddy's admin endpoint shows the registry of the last configuration that it
	// tried, which must have them even if a zone is refused.
	if !h.DisableMetrics {
		if err := registerMetrics(ctx.GetMetricsRegistry()); err != nil {
			return fmt.Errorf("registering metrics: %w", err)
		}
	}
	if err := h.provisionSettings(); err != nil {
		return atPlace(h.Place, err)
	}
	for _, name := range slices.Sorted(maps.Keys(h.Zones)) {
		z, err := h.provisionZone(ctx, name, h.Zones[name])
		if err != nil {
			return h.Zones[name].wrap(name, err)
		}
		h.zones = append(h.zones, z)
	}
	h.warnUnused()
	return nil
}

// provisionSettings checks the settings of the handler itself.
func (h *Handler) provisionSettings() (err error) {
	if len(h.Zones) == 0 && len(h.Allow) == 0 && len(h.Deny) == 0 {
		return errors.New("rate_limit has nothing to do: use at least one zone, `allow` or `deny`")
	}
	if h.headers, err = parseHeaderSet(cmp.Or(h.Headers, h.app.defaults.Headers)); err != nil {
		return err
	}
	if h.rejectStyle, err = parseRejectStyle(cmp.Or(h.Reject, h.app.defaults.Reject)); err != nil {
		return err
	}
	if _, err = parseRejectionLog(h.LogRejections); err != nil {
		return err
	}
	if h.Jitter < 0 || h.Jitter > 1 {
		return fmt.Errorf("jitter is %v: use a fraction from 0 to 1, such as 0.2 for 20%%", h.Jitter)
	}
	if h.addresses, err = newAddressFilter(h.Allow, h.Deny); err != nil {
		return err
	}
	for _, doubt := range h.addresses.doubts() {
		h.logger.Warn("the addresses are probably not what was meant", placeField(h.Place), zap.Error(doubt))
	}
	return nil
}

// provisionZone compiles a zone and acquires its counts.
func (h *Handler) provisionZone(ctx caddy.Context, name string, use *Zone) (*zone, error) {
	config, err := h.app.zoneFor(name, use)
	if err != nil {
		return nil, err
	}
	var matchers caddyhttp.MatcherSets
	loaded, err := ctx.LoadModule(config, "MatcherSetsRaw")
	if err == nil {
		err = matchers.FromInterface(loaded)
	}
	if err != nil {
		return nil, fmt.Errorf("loading matchers: %w", err)
	}
	if err := h.app.define(name, config, h.logger); err != nil {
		return nil, err
	}
	state, handle, release := acquireZone(h.app.store, name)
	h.releases = append(h.releases, release)
	z, err := newZone(name, config, h.app, handle)
	if err != nil {
		return nil, err
	}
	z.matchers, z.zoneState = matchers, state
	if config != use {
		z.warnings = nil // the app has logged them
	}
	z.warnings = append(z.warnings, append(z.matchDoubts(), z.compareDoubts(config)...)...)
	z.logWarnings(name, h.logger)
	h.app.addZone(z)
	return z, nil
}

// warnUnused warns about settings that are accepted and have no effect.
func (h *Handler) warnUnused() {
	inRedis := h.app.Redis != nil
	if h.Distributed != nil {
		if inRedis {
			h.logger.Warn("`distributed` is accepted and not used: the nodes share their counts in Redis")
		} else {
			h.logger.Warn("counts are per node: N nodes admit N times the limit; `distributed` is accepted and " +
				"not used: use `redis` in the global option rate_limit to share counts")
		}
	}
	if len(h.StorageRaw) > 0 {
		place := "the memory of this process"
		if inRedis {
			place = "Redis"
		}
		h.logger.Warn("`storage` is accepted and not used: counts live in " + place)
	}
}

// Cleanup releases what Provision acquired, even if Provision failed. Requests of this
// configuration may still be running: they hold references to the zones and their counts.
func (h *Handler) Cleanup() error {
	for _, release := range h.releases {
		release()
	}
	h.releases = nil
	return nil
}

// Interface guards.
var (
	_ caddy.Provisioner           = (*Handler)(nil)
	_ caddy.CleanerUpper          = (*Handler)(nil)
	_ caddyhttp.MiddlewareHandler = (*Handler)(nil)
)
