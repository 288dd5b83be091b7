// Package fleetlimit is a Caddy plugin that limits the rate of requests: the `rate_limit` handler,
// and the app of the same name that holds what the handlers of a configuration share.
//
// The package adapts Caddy to package limiter, which decides. Each file holds one idea:
//
//	module.go         the handler, and how it is provisioned
//	app.go            the app: what the handlers of a configuration share
//	appzone.go        zones that are defined once, in the app
//	caddyfile.go      the directive and the global option of Caddyfiles. Package config has their
//	                  grammar, and the settings of both modules
//	handler.go        one request, from ServeHTTP to the store and back
//	placement.go      which rules of a zone limit the request, and so the counts that it is charged to
//	places.go         at which endpoints it is, also if servers read its path in several ways
//	request.go        the state of one request
//	evaluate.go       what its zones decide, with note.go, dryrun.go, comparison.go and shadow.go
//	charge.go         what it has been charged, in all handlers that it passes
//	credentials.go    zones that are decided before authentication
//	routes.go         what the routes around the handlers show about zones
//	unreached.go      requests that do not reach a handler, because another one answers them
//	addressfilter.go  which client addresses are exempt or denied, by the configuration or by rules;
//	                  proxied.go and writable.go notice where those are not the addresses of clients
//	match.go          what is probably a mistake in the matchers of a zone
//	set.go            the zones of a configuration, snapshot.go with a version of the rules; changes.go
//	                  compares two configurations
//	read.go           what a zone says about a request, which is in zone_request.go; refusals.go has why
//	                  it must not pass
//	zone.go           a zone, compiled. Its parts are in rule.go, tier.go, tier_unknown.go, cost.go,
//	                  missingkey.go and keylist.go; internal/keytemplate makes its keys
//	zone_rules.go     a zone as rules change it; zone_keys.go has what they say about single keys,
//	                  zone_patch.go changes that of a few of many, override.go says which limits those can have, and what becomes of them,
//	                  override_doubt.go which of them probably have no effect.
//	                  zone_keytext.go is how operators write keys that a store has
//	dryrun.go         zones that decide and do not reject
//	compare.go        a second limit or algorithm beside that in force
//	unknown.go        placeholders that nothing provides
//	evaluate_reject.go  which zone a rejection names, and how long it is
//	forbid.go         the 403 of what is denied whatever its rate is, the 400 of what is ambiguous
//	metrics.go        what Prometheus scrapes
//	log.go            what is logged, and how often
//	decisions.go      what the tails of decisions say
//	accesslog.go      the field of access logs
//	reload.go         which counts a reload drops
//	rules.go          the rules in force: their versions reach the zones of running apps.
//	                  rules_schema.go is what they can refer to, rules_store.go where they are kept
//	adminapi.go       the admin API, whose requests internal/adminapi answers: what it needs of the
//	                  process and of the running configuration. describe.go is what is known of a
//	                  zone, inspect.go and inspect_tier.go what is known of a key, top.go which keys
//	                  use a zone most, and counts.go changes the counts of a key. internal/command is
//	                  the client, `caddy rate-limit`
//	drain.go          what happens when Caddy begins to shut down
//	health.go         whether the node is healthy, and a handler that tells
//	emergency.go      emergency mode: a hard limit in front of everything
//
// internal/stores knows where the counts are, and which nodes share them. internal/report has what
// operators see.
package fleetlimit

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/caddyserver/caddy/v2"
	caddycmd "github.com/caddyserver/caddy/v2/cmd"
	"github.com/caddyserver/caddy/v2/modules/caddyevents"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"go.uber.org/zap"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/internal/command"
	"github.com/fleetlimit/fleetlimit/internal/response"
	"github.com/fleetlimit/fleetlimit/internal/usage"
	"github.com/fleetlimit/fleetlimit/limiter"
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
// all nodes of a fleet share if the rate_limit app names one. While that Redis does not answer,
// `on_outage` decides: by default, each node keeps to its share of the limit.
//
// Responses have the headers `X-RateLimit-Limit`, `-Remaining` and `-Reset`, and the IETF's
// `RateLimit` and `RateLimit-Policy`. If a request could not be counted, they have
// `X-RateLimit-Remaining: -1` and `X-RateLimit-Policy: degraded`. Later handlers and logs can use
// the placeholders `{http.rate_limit.<zone>.limit}`, `.remaining`, `.reset` and `.source`, which
// are empty for a zone that did not apply, and for rejected requests
// `{http.rate_limit.exceeded.name}`, the name of the zone.
type Handler struct {
	config.Handler // what operators write

	ctx         caddy.Context // for events
	app         *App
	takes       takeStore
	addresses   addressFilter
	zones       []*zone // by name, so that headers list them in a stable order
	headers     response.Headers
	rejectStyle string
	logger      *zap.Logger
	events      *caddyevents.App
	releases    []func() // release what Provision acquired

	windowless usage.ReportLimit // of the lines about 403s by the handler's own list
}

// A takeStore decides takes, and notes whether it has answered.
type takeStore interface {
	Take(ctx context.Context, now time.Time, takes []limiter.Take) error
	Peek(ctx context.Context, now time.Time, takes []limiter.Take) error
	Note(now time.Time, err error)
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
	h.takes = h.app.store
	h.ctx, h.logger = ctx, ctx.Logger()
	if !h.app.served && slices.ContainsFunc(ctx.Modules(), func(m caddy.Module) bool { _, is := m.(*caddyhttp.App); return is }) {
		h.app.served = true
	}

	// Metrics come first: Caddy's admin endpoint shows the registry of the last configuration that it
	// tried, which must have them even if a zone is refused.
	if !h.DisableMetrics && !h.app.metrics {
		if err := registerMetrics(ctx.GetMetricsRegistry()); err != nil {
			return fmt.Errorf("registering metrics: %w", err)
		}
		h.app.metrics = true
	}
	if err := h.provisionSettings(); err != nil {
		return atPlace(h.Place, err)
	}
	for _, name := range slices.Sorted(maps.Keys(h.Zones)) {
		z, err := h.provisionZone(ctx, name, h.Zones[name])
		if err != nil {
			return errorInZone(name, h.Zones[name], err)
		}
		h.zones = append(h.zones, z)
	}
	h.warnUnused()
	return nil
}

// provisionSettings checks the settings of the handler itself.
func (h *Handler) provisionSettings() (err error) {
	if err := h.Check(); err != nil {
		return err
	}
	defaults := h.app.DefaultSettings()
	h.headers = response.NewHeaders(cmp.Or(h.Headers, defaults.Headers))
	h.rejectStyle = cmp.Or(h.Reject, defaults.Reject)
	if h.addresses, err = newAddressFilter(h.Allow, h.Deny); err != nil {
		return err
	}
	for _, doubt := range h.addresses.doubts() {
		h.logger.Warn("the addresses are probably not what was meant", placeField(h.Place), zap.Error(doubt))
	}
	return nil
}

// provisionZone compiles a zone and acquires its counts.
func (h *Handler) provisionZone(ctx caddy.Context, name string, use *config.Zone) (*zone, error) {
	settings, err := h.app.Zones.DefinitionFor(name, use)
	if err != nil {
		return nil, err
	}
	var matchers caddyhttp.MatcherSets
	loaded, err := ctx.LoadModule(settings, "MatcherSetsRaw")
	if err == nil {
		err = matchers.FromInterface(loaded)
	}
	if err != nil {
		return nil, fmt.Errorf("loading matchers: %w", err)
	}
	if err := h.app.define(name, settings, h.logger); err != nil {
		return nil, err
	}
	counters, releaseCounters := usage.Acquire(name)
	handle, releaseHandle := h.app.store.Open(name)
	h.releases = append(h.releases, releaseCounters, releaseHandle)
	z, err := h.app.zones().newZone(name, settings, zoneOptions{counters, handle, matchers, &h.addresses})
	if err != nil {
		return nil, err
	}
	if settings == use { // else the app has logged them
		logWarnings(h.logger, z, append(z.warnings, settings.Doubts(&h.app.App)...))
	}
	logWarnings(h.logger, z, z.matchDoubts())
	h.app.set.add(z)
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
