package fleetlimit

import (
	"context"
	"os"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/internal/adminapi"
	"github.com/fleetlimit/fleetlimit/rules"
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
func (a *runningApp) StoreName() string { return a.app.store.name }

// NodeCount implements adminapi.Configuration.
func (a *runningApp) NodeCount() int {
	if m := a.app.store.nodes; m != nil {
		return m.Nodes()
	}
	return 1
}

// Nodes implements adminapi.Configuration. A node that counts in memory is alone.
func (a *runningApp) Nodes(ctx context.Context) (*adminapi.Nodes, error) {
	self := a.nodeName()
	m := a.app.store.nodes
	if m == nil {
		return &adminapi.Nodes{Count: 1, Self: self, Nodes: []adminapi.Node{{Name: self}}}, nil
	}
	nodes, err := m.List(ctx)
	if err != nil {
		return nil, err
	}
	answer := &adminapi.Nodes{Count: m.Nodes(), Self: self, Nodes: []adminapi.Node{}}
	for _, n := range nodes {
		answer.Nodes = append(answer.Nodes, adminapi.Node{Name: n.Name, SeenAgo: n.Seen.String()})
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

// nodeName returns the name of this node.
func (a *runningApp) nodeName() string {
	if m := a.app.store.nodes; m != nil {
		return m.Name()
	}
	self, _ := os.Hostname() // no name is no error here
	return self
}

// Interface guard.
var _ adminapi.Configuration = (*runningApp)(nil)
