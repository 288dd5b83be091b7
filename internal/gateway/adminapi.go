package gateway

import (
	"context"

	"github.com/caddyserver/caddy/v2"

	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/internal/operate/adminapi"
	"github.com/fleetlimit/fleetlimit/internal/operate/page"
)

// An AdminAPI serves /rate_limit/ at Caddy's admin endpoint, whose checks of hosts and origins
// apply. It has no state of its own: Caddy makes a new one for each configuration, even for one
// that fails.
type AdminAPI struct{}

// CaddyModule returns the Caddy module information.
func (AdminAPI) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "admin.api.rate_limit",
		New: func() caddy.Module { return AdminAPI{} },
	}
}

// Routes implements caddy.AdminRouter.
func (AdminAPI) Routes() []caddy.AdminRoute { return OperatorPage.Routes() }

// OperatorPage is the operator's page of this process. It outlives configurations.
var OperatorPage = page.New(process)

// process is what the admin API knows of this process.
var process = &adminapi.Process{
	Running: running,
	// Caddy has no context before its first configuration runs.
	Starting:  func() bool { return caddy.ActiveContext().Context == nil },
	Readiness: readiness,
	Tails:     &reports.Tails,
	Emergency: emergencyMode,
}

// running returns the running configuration. It returns nil if there is none.
func running() *adminapi.Running {
	a := newestApp()
	if a == nil || a.watcher == nil {
		return nil
	}
	snapshot := a.rulesInForce()
	return &adminapi.Running{
		Snapshot: snapshot, Store: a.store, Watcher: a.watcher.Watcher,
		UntrustedProxy: a.requests.UntrustedProxy.Load(),
		Explain: func(ctx context.Context, asked *api.ExplainRequest) (*api.Explanation, error) {
			return a.explain(ctx, snapshot, asked)
		},
		Plan: func(ctx context.Context, text []byte) (*api.Plan, error) { return a.plan(ctx, snapshot, text) },
	}
}

// Interface guard.
var _ caddy.AdminRouter = AdminAPI{}
