package gateway

import (
	"context"
	"net/http"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyevents"
	"go.uber.org/zap"
)

// A node drains from the instant at which Caddy begins to shut down until its listeners are closed
// and its requests have ended: for Caddy's shutdown_delay and grace_period. It serves requests as
// before, and health checks tell load balancers that it will soon serve none. Leases that it holds
// are returned at the end, by Cleanup.

// A drainStart begins the drain of an app's node.
type drainStart struct{ app *App }

// watchDrain has the node drain when Caddy shuts down. App.Stop would be too late: Caddy stops its
// apps in any order, and waits for the drain when it stops the HTTP app.
func (a *App) watchDrain() error {
	events, err := a.ctx.App("events")
	if err != nil {
		return err
	}
	return events.(*caddyevents.App).On("stopping", drainStart{a})
}

// Handle implements caddyevents.Handler. It does nothing at a reload, which stops a configuration,
// too, but drains nothing.
func (d drainStart) Handle(context.Context, caddy.Event) error {
	if !caddy.Exiting() {
		return nil
	}
	s := d.app.store
	if leases := s.Leases(); leases != nil {
		leases.EndLeasing()
	}
	d.app.logger.Info("Caddy shuts down: health checks get 503, and requests are served until the listeners close",
		zap.String("store", s.Name()))
	return nil
}

// draining reports whether the server that has got r will soon serve no requests: Caddy shuts down,
// or a reload closes the server's listeners.
func draining(r *http.Request) bool {
	if caddy.Exiting() {
		return true
	}
	repl, ok := r.Context().Value(caddy.ReplacerCtxKey).(*caddy.Replacer)
	if !ok {
		return false
	}
	closing, _ := repl.Get("http.shutting_down")
	return closing == true
}

// Interface guard.
var _ caddyevents.Handler = drainStart{}
