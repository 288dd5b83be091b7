package fleetlimit

import (
	"context"

	"github.com/caddyserver/caddy/v2"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/internal/adminapi"
	"github.com/fleetlimit/fleetlimit/rules"
)

// An adminAPI serves /rate_limit/ at Caddy's admin endpoint, whose checks of hosts and origins
// apply. It has no state of its own: Caddy makes a new one for each configuration, even for one
// that fails.
type adminAPI struct{}

// CaddyModule returns the Caddy module information.
func (adminAPI) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "admin.api.rate_limit",
		New: func() caddy.Module { return adminAPI{} },
	}
}

// Routes implements caddy.AdminRouter.
func (adminAPI) Routes() []caddy.AdminRoute { return adminapi.Routes(process{}) }

// A process is this process for the admin API.
type process struct{}

// Running implements adminapi.Process.
func (process) Running() adminapi.Configuration {
	if running := newRunningApp(); running != nil {
		return running
	}
	return nil
}

// Readiness implements adminapi.Process.
func (process) Readiness() adminapi.Readiness { return readiness() }

// Tails implements adminapi.Process.
func (process) Tails() *adminapi.Tails { return &reports.Tails }

// Emergency implements adminapi.Process.
func (process) Emergency() adminapi.EmergencySwitch { return emergencyMode }

// Interface guards.
var (
	_ caddy.AdminRouter = adminAPI{}
	_ adminapi.Process  = process{}
)

// A runningApp is the app of the running configuration, with the rules in force, for the admin API.
type runningApp struct {
	app     *App
	schema  ruleSchema
	inForce *ruleSnapshot
}

// newRunningApp returns the app of the running configuration, or nil if there is none.
func newRunningApp() *runningApp {
	app := newestApp()
	if app == nil || app.watcher == nil {
		return nil
	}
	return &runningApp{app: app, schema: ruleSchema{app}, inForce: app.rulesInForce()}
}

// Schema implements adminapi.Configuration.
func (a *runningApp) Schema() rules.Schema { return a.schema }

// Watcher implements adminapi.Configuration.
func (a *runningApp) Watcher() *rules.Watcher { return a.app.watcher.Watcher }

// StoreName implements adminapi.Configuration.
func (a *runningApp) StoreName() string { return a.app.store.Name() }

// Mismatches implements adminapi.Configuration.
func (a *runningApp) Mismatches() (all []adminapi.Mismatch) {
	for _, m := range a.app.store.Mismatches() {
		all = append(all, adminapi.Mismatch(m))
	}
	return all
}

// NodeCount implements adminapi.Configuration.
func (a *runningApp) NodeCount() int { return a.app.store.Nodes() }

// Nodes implements adminapi.Configuration.
func (a *runningApp) Nodes(ctx context.Context) (*adminapi.Nodes, error) {
	store := a.app.store
	nodes, err := store.ListNodes(ctx)
	if err != nil {
		return nil, err
	}
	answer := &adminapi.Nodes{Count: store.Nodes(), Self: store.Node(), Nodes: []adminapi.Node{}}
	for _, n := range nodes {
		node := adminapi.Node{Name: n.Name}
		if store.Leases() != nil {
			node.SeenAgo = n.Seen.String()
		}
		answer.Nodes = append(answer.Nodes, node)
	}
	return answer, nil
}

// Keys implements adminapi.Configuration.
func (a *runningApp) Keys(key rules.Key) ([][]byte, error) {
	return a.schema.zone(key.Zone).keysOf(&key)
}

// definition returns the configuration of a zone, in the syntax of this package.
func (a *runningApp) definition(zone string) *config.Zone {
	a.app.mu.Lock()
	defer a.app.mu.Unlock()
	settings := a.app.definitions[zone]
	if settings.Legacy() {
		if own, err := config.FromLegacy(settings); err == nil {
			return own
		}
	}
	return settings
}

// Interface guard.
var _ adminapi.Configuration = (*runningApp)(nil)
