package gateway

import (
	"fmt"
	"net/url"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"go.uber.org/zap"

	"github.com/fleetlimit/fleetlimit/internal/caddyread/reach"
	"github.com/fleetlimit/fleetlimit/internal/request/report"
)

// warnRewritten warns about each zone of a server whose endpoints or match name paths that a
// handler before it may rewrite: their requests are counted elsewhere, or not at all.
func (a *App) warnRewritten(server *caddyhttp.Server) {
	warned := make(map[string]bool) // sites may share a named route
	for _, way := range reach.Ways(server, handlers{a}.Is) {
		rewrite := func(method string, sent *url.URL) (paths []*url.URL, by []string) {
			for _, r := range way.Rewrite(method, sent) {
				paths, by = append(paths, &r.URL), append(by, r.By)
			}
			return paths, by
		}
		h, words := handlerOf(way.Handler), way.Words()
		for _, z := range h.requests.Zones {
			for _, lost := range z.LostPaths(rewrite, words) {
				message := fmt.Sprintf("%s may miss requests to %s, because %s before rate_limit makes %s of it: use `on_path original` "+
					"in the zone, or the path as it is there", lost.Named, lost.Sent, lost.By, lost.Is)
				if about := h.Place + z.Name + message; !warned[about] {
					warned[about] = true
					a.logger.Warn(message, zap.String("zone", z.Name), report.PlaceField(z.Place))
				}
			}
		}
	}
}
