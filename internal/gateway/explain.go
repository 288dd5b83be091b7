package gateway

import (
	"context"
	"net/http"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/internal/operate/explain"
	"github.com/fleetlimit/fleetlimit/internal/operate/inspect"
	"github.com/fleetlimit/fleetlimit/internal/request/zone"
)

// explain returns what would happen to a request under the rules of a snapshot. It returns an error
// if asked has a mistake.
func (a *App) explain(ctx context.Context, inForce *zone.Snapshot, asked *api.ExplainRequest) (*api.Explanation, error) {
	answer, err := explain.Explain(ctx, a.http, handlers{a}, asked)
	if err == nil {
		answer.Version = inForce.Version.Number
	}
	return answer, err
}

// handlers tells package explain about the handlers of an app.
type handlers struct{ app *App }

// Is implements explain.Limits.
func (handlers) Is(h caddyhttp.MiddlewareHandler) bool { return handlerOf(h) != nil }

// Describe implements explain.Limits.
func (handlers) Describe(h caddyhttp.MiddlewareHandler) (place string, zones []string) {
	ours := handlerOf(h)
	zones = []string{}
	for _, z := range ours.requests.Zones {
		zones = append(zones, z.Name)
	}
	return ours.Place, zones
}

// Hosts implements explain.Limits.
func (handlers) Hosts(server *caddyhttp.Server) (hosts []string, limited bool) {
	forAll := false
	for _, s := range sitesOf(server).all {
		if len(s.handlers) > 0 {
			hosts, limited = append(hosts, s.hosts...), true
			forAll = forAll || len(s.hosts) == 0
		}
	}
	if forAll {
		hosts = nil
	}
	return hosts, limited
}

// Explain implements explain.Limits.
func (l handlers) Explain(h caddyhttp.MiddlewareHandler, r *http.Request) (api.ExplainedHandler, explain.Answer) {
	e := handlerOf(h).requests.Begin(r)
	explained, err := e.Explain(inspect.Explainer{Store: l.app.store})
	return explained, func(w http.ResponseWriter, next caddyhttp.Handler) error {
		err := e.Answer(w, next, err)
		e.Release()
		return err
	}
}
