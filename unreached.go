package fleetlimit

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"go.uber.org/zap"

	"github.com/fleetlimit/fleetlimit/internal/matchers"
	"github.com/fleetlimit/fleetlimit/internal/reach"
	"github.com/fleetlimit/fleetlimit/internal/report"
)

// checkReached returns an error if no request can reach a handler, because another one before it
// answers all of them, and warns if some requests do not reach one for all.
func (a *App) checkReached(servers map[string]*caddyhttp.Server) error {
	isOurs := handlers{a}.Is
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		server := servers[name]
		gaps := reach.Find(server.Routes, server.NamedRoutes, isOurs)
		if server.Errors != nil {
			gaps = append(gaps, reach.Find(server.Errors.Routes, server.NamedRoutes, isOurs)...)
		}
		for _, gap := range gaps {
			h := gap.Handler.(*Handler)
			if len(gap.Requests) == 0 {
				errs = append(errs, fmt.Errorf("the rate_limit at %s limits nothing, because %s before it answers every request: "+
					"use `route` with rate_limit first, or the order of directives that Caddy has without `order`",
					cmp.Or(h.Place, "server "+name), reach.Directive(gap.By)))
				continue
			}
			a.logger.Warn("requests do not reach rate_limit, because a `handle` before it answers them: use rate_limit outside "+
				"`route`, which Caddy puts before `handle`, or in that `handle` too",
				report.PlaceField(h.Place), zap.String("requests", matchers.Describe(gap.Requests)), zap.String("answered_by", reach.Directive(gap.By)))
		}
	}
	return errors.Join(errs...)
}
