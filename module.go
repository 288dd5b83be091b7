// Package fleetlimit is a Caddy plugin that limits the rate of requests: the `rate_limit` handler,
// and the app of the same name that holds what the handlers of a configuration share.
//
// The package adapts Caddy to the packages below. Each of its files holds one idea:
//
//	module.go     the handler, and how it is provisioned
//	app.go        the app: what the handlers of a configuration share; appzone.go has zones that are
//	              defined once, in the app
//	caddyfile.go  the directive and the global option of Caddyfiles
//	handler.go    one request
//	routes.go     what the routes around the handlers show about zones and addresses;
//	              unreached.go, which requests do not come to them; rewritten.go, whose paths are
//	              rewritten before
//	rules.go      the rules in force
//	plan.go       what a reload would change, and what it has changed; planexpand.go, which
//	              placeholders of the process a plan may expand
//	explain.go    what would happen to a request
//	adminapi.go   what the admin API needs of the process and of the running configuration
//	drain.go      what happens when Caddy begins to shut down
//	health.go     a handler that tells whether the node is healthy
//	page.go       a handler that serves the operator's page
//
// The packages, each of which knows only those below it:
//
//	internal/operate    what people ask and do: the admin API, its client `caddy rate-limit`, the
//	                    operator's page, explain, trials of another limit
//	internal/request    one request on its way: evaluate decides it over all zones, zone is what a
//	                    compiled zone says about it, response what its response says, report what
//	                    operators see of it, emergency the hard limit in front of everything
//	internal/observe    what is recorded about decisions: counters, the keys that are used most, the
//	                    journal, the last hour, and what an upstream can take
//	internal/fleet      what nodes share: the stores of the counts, membership, the rules
//	internal/api        the requests and answers of the admin API
//	internal/key        keys and addresses
//	internal/caddyread  what is read off Caddy's routes and Caddyfiles
//	internal/text       parsers of what people write and clients send
//	config              what operators write: settings, JSON and the grammar of Caddyfiles
//	limiter             limits, takes, decisions and the algorithms; its packages are the stores
//	rules               limits that change while traffic runs
package fleetlimit

import (
	"fmt"
	"maps"
	"slices"

	"github.com/caddyserver/caddy/v2"
	caddycmd "github.com/caddyserver/caddy/v2/cmd"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"go.uber.org/zap"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/internal/observe/usage"
	"github.com/fleetlimit/fleetlimit/internal/operate/command"
	"github.com/fleetlimit/fleetlimit/internal/request/evaluate"
	"github.com/fleetlimit/fleetlimit/internal/request/report"
	"github.com/fleetlimit/fleetlimit/internal/request/response"
	"github.com/fleetlimit/fleetlimit/internal/request/zone"
	"github.com/fleetlimit/fleetlimit/internal/text/spelling"
)

func init() {
	caddy.RegisterModule(new(App))
	caddy.RegisterModule(new(Handler))
	caddy.RegisterModule(new(HealthHandler))
	caddy.RegisterModule(new(PageHandler))
	caddy.RegisterModule(new(reachCheck))
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

	app      *App
	requests evaluate.Handler
	log      *report.Log
	releases []func() // release what Provision acquired
}

// CaddyModule returns the Caddy module information.
func (*Handler) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "http.handlers.rate_limit",
		New: func() caddy.Module { return new(Handler) },
	}
}

// Provision compiles the handler's configuration. It changes no count of an earlier configuration.
func (h *Handler) Provision(ctx caddy.Context) (err error) {
	defer func() { err = spelling.Bound(err) }()
	app, err := ctx.App(appName)
	if err != nil {
		return fmt.Errorf("loading the rate_limit app: %w", err)
	}
	h.app = app.(*App)
	checkReachLast(ctx)
	if h.log, err = h.app.logOfHandlers(ctx); err != nil {
		return fmt.Errorf("loading the events app: %w", err)
	}
	h.requests = evaluate.Handler{
		App: &h.app.requests, Store: h.app.store, Place: h.Place,
		Reports: reports.Requests(h.log, &h.Handler, h.app.recorded),
	}
	for _, m := range ctx.Modules() {
		switch m.CaddyModule().ID {
		case "http":
			h.app.served = true
		case "http.handlers.reverse_proxy", "http.handlers.intercept":
			h.requests.HandlesResponses = true
		}
	}

	// Metrics come first: Caddy's admin endpoint shows the registry of the last configuration that it
	// tried, which must have them even if a zone is refused.
	if !h.DisableMetrics && !h.app.registered {
		if err := reports.Register(ctx.GetMetricsRegistry()); err != nil {
			return fmt.Errorf("registering metrics: %w", err)
		}
		h.app.registered = true
	}
	if err := h.provisionSettings(); err != nil {
		return atPlace(h.Place, err)
	}
	h.app.noteSettings(&h.Handler)
	for _, name := range slices.Sorted(maps.Keys(h.Zones)) {
		z, err := h.provisionZone(ctx, name, h.Zones[name])
		if err != nil {
			return errorInZone(name, h.Zones[name], err)
		}
		h.requests.Zones = append(h.requests.Zones, z)
	}
	h.requests.Index = zone.NewIndex(h.requests.Zones)
	h.warnUnused()
	return nil
}

// provisionSettings checks the settings of the handler itself.
func (h *Handler) provisionSettings() (err error) {
	if err := h.Check(); err != nil {
		return err
	}
	h.requests.Settings = response.NewSettings(&h.Handler, h.app.DefaultSettings())
	if h.requests.Addresses, err = zone.NewAddresses(h.Allow, h.Deny); err != nil {
		return err
	}
	for _, doubt := range h.requests.Addresses.Doubts() {
		h.log.Warn("the addresses are probably not what was meant", report.PlaceField(h.Place), zap.Error(doubt))
	}
	return nil
}

// provisionZone compiles a zone and acquires its counts.
func (h *Handler) provisionZone(ctx caddy.Context, name string, use *config.Zone) (*zone.Zone, error) {
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
	if err := h.app.define(name, settings, h.log.Logger); err != nil {
		return nil, err
	}
	counters, releaseCounters := usage.Acquire(name)
	handle, releaseHandle := h.app.store.Open(name)
	h.releases = append(h.releases, releaseCounters, releaseHandle)
	z, err := h.app.set.New(name, settings, zone.Options{
		Usage: counters, Handle: handle, Matchers: matchers, Addresses: &h.requests.Addresses, LogKey: h.LogKey,
	})
	if err != nil {
		return nil, err
	}
	if settings == use { // else the app has logged them
		logWarnings(h.log.Logger, z, append(z.Warnings, settings.Doubts(&h.app.App)...))
	}
	logWarnings(h.log.Logger, z, z.MatchDoubts())
	h.app.set.Add(z)
	return z, nil
}

// warnUnused warns about settings that are accepted and have no effect.
func (h *Handler) warnUnused() {
	inRedis := h.app.Redis != nil
	if h.Distributed != nil {
		if inRedis {
			h.log.Warn("`distributed` is accepted and not used: the nodes share their counts in Redis")
		} else {
			h.log.Warn("counts are per node: N nodes admit N times the limit; `distributed` is accepted and " +
				"not used: use `redis` in the global option rate_limit to share counts")
		}
	}
	if len(h.StorageRaw) > 0 {
		place := "the memory of this process"
		if inRedis {
			place = "Redis"
		}
		h.log.Warn("`storage` is accepted and not used: counts live in " + place)
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
