package gateway

import (
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"go.uber.org/zap"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/internal/observe/usage"
	"github.com/fleetlimit/fleetlimit/internal/request/evaluate"
	"github.com/fleetlimit/fleetlimit/internal/request/report"
	"github.com/fleetlimit/fleetlimit/internal/request/response"
	"github.com/fleetlimit/fleetlimit/internal/request/zone"
	"github.com/fleetlimit/fleetlimit/internal/text/spelling"
)

// A Handler is a handler of requests, as operators write it and as it runs.
type Handler struct {
	config.Handler // what operators write

	app      *App
	requests evaluate.Handler
	log      *report.Log
	releases []func() // release what Provision acquired
}

// Provision compiles the handler's configuration. It changes no count of an earlier configuration.
func (h *Handler) Provision(ctx caddy.Context) (err error) {
	defer func() { err = spelling.Bound(err) }()
	if h.app, err = appOf(ctx); err != nil {
		return fmt.Errorf("loading the rate_limit app: %w", err)
	}
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
	for _, warning := range h.requests.Addresses.Warnings() {
		h.log.Warn("the addresses are probably not what was meant", report.PlaceField(h.Place), zap.Error(warning))
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
	if settings == use { // otherwise the app has logged the warnings
		logWarnings(h.log.Logger, z, append(z.Warnings, settings.Warnings(&h.app.App)...))
	}
	logWarnings(h.log.Logger, z, z.MatchWarnings())
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
		h.log.Warn("`storage` is accepted and not used: counts are in " + place)
	}
}

// Cleanup releases what Provision acquired, even if Provision failed. Requests of this
// configuration may still be running: they still have the zones and their counts.
func (h *Handler) Cleanup() error {
	for _, release := range h.releases {
		release()
	}
	h.releases = nil
	return nil
}

// ServeHTTP implements caddyhttp.MiddlewareHandler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
	return h.requests.Serve(w, r, next)
}

// Interface guards.
var (
	_ caddy.Provisioner           = (*Handler)(nil)
	_ caddy.CleanerUpper          = (*Handler)(nil)
	_ caddyhttp.MiddlewareHandler = (*Handler)(nil)
)
