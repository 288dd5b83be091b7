package gateway

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"go.uber.org/zap"

	"github.com/fleetlimit/fleetlimit/internal/caddyread/reach"
	"github.com/fleetlimit/fleetlimit/internal/request/report"
)

// checkReached returns an error if no request can reach a handler of a server, because another
// handler before it answers all requests. It warns if some requests do not reach a handler that is
// for all requests.
func (a *App) checkReached(servers map[string]*caddyhttp.Server) error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		gaps := reach.Find(servers[name], handlers{a}.Is)
		errs = append(errs, unreached(gaps, name))
		for _, gap := range gaps {
			if len(gap.Requests) > 0 {
				a.logger.Warn("requests do not reach rate_limit, because a `handle` before it answers them: use rate_limit outside "+
					"`route`, which Caddy puts before `handle`, or in that `handle` too", report.PlaceField(handlerOf(gap.Handler).Place),
					zap.String("requests", reach.Describe(gap.Requests)), zap.String("answered_by", reach.Directive(gap.By)))
			}
		}
	}
	return errors.Join(errs...)
}

// unreached returns an error if no request can reach a handler of a server.
func unreached(gaps []reach.Gap, server string) error {
	var errs []error
	for _, gap := range gaps {
		if len(gap.Requests) == 0 {
			errs = append(errs, fmt.Errorf("the rate_limit at %s limits nothing, because %s before it answers every request: "+
				"use `route` with rate_limit first, or the order of directives that Caddy has without `order`",
				cmp.Or(handlerOf(gap.Handler).Place, "server "+server), reach.Directive(gap.By)))
		}
	}
	return errors.Join(errs...)
}

// A ReachCheck is a handler that checks the routes of its server while Caddy provisions it, so that
// `caddy validate` refuses what the start refuses. It stands in a named route that nothing invokes,
// because Caddy provisions named routes after all others. No other module of a configuration sees
// all routes of a server before the start.
type ReachCheck struct{}

const reachCheckName = "rate_limit_reach_check"

// CaddyModule returns the Caddy module information.
func (ReachCheck) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "http.handlers." + reachCheckName,
		New: func() caddy.Module { return new(ReachCheck) },
	}
}

// Provision returns an error if no request can reach a rate_limit handler. It warns about paths
// that other handlers rewrite before.
func (*ReachCheck) Provision(ctx caddy.Context) error {
	app, err := appOf(ctx)
	if err != nil {
		return err
	}
	if server := serverOf(ctx); server != nil {
		app.warnRewritten(server)
		return unreached(reach.Find(server, handlers{app}.Is), server.Name())
	}
	return nil
}

// ServeHTTP calls next. No request comes to it.
func (ReachCheck) ServeHTTP(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
	return next.ServeHTTP(w, r)
}

// checkReachLast has Caddy provision a ReachCheck after the routes of the server of ctx.
func checkReachLast(ctx caddy.Context) {
	server := serverOf(ctx)
	if server == nil {
		return
	}
	if server.NamedRoutes == nil {
		server.NamedRoutes = make(map[string]*caddyhttp.Route)
	}
	if server.NamedRoutes[reachCheckName] == nil {
		server.NamedRoutes[reachCheckName] = &caddyhttp.Route{
			HandlersRaw: []json.RawMessage{json.RawMessage(`{"handler":"` + reachCheckName + `"}`)},
		}
	}
}

// serverOf returns the server whose routes are provisioned, or nil if ctx belongs to none.
func serverOf(ctx caddy.Context) *caddyhttp.Server {
	server, _ := ctx.Value(caddyhttp.ServerCtxKey).(*caddyhttp.Server)
	return server
}
