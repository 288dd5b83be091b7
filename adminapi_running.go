package fleetlimit

import (
	"net/http"
	"os"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/internal/spelling"
	"github.com/fleetlimit/fleetlimit/rules"
)

// A runningApp is the app of the running configuration, with the rules in force.
type runningApp struct {
	*App
	schema  ruleSchema
	watcher *rules.Watcher
	inForce *ruleSnapshot
}

// runningRules returns the app of the running configuration.
func runningRules() (*runningApp, error) {
	app := newestApp()
	if app == nil || app.watcher == nil {
		return nil, apiError(http.StatusNotFound, "the running configuration limits nothing: use one with rate_limit")
	}
	return &runningApp{App: app, schema: ruleSchema{app}, watcher: app.watcher.Watcher, inForce: app.rulesInForce()}, nil
}

// zoneOf returns the zone that the path of a request names.
func (a *runningApp) zoneOf(r *http.Request) (*zone, error) {
	name := r.PathValue("zone")
	if z := a.schema.zone(name); z != nil {
		return z, nil
	}
	names := a.schema.Zones()
	if nearest := spelling.Nearest(name, names); nearest != "" {
		names = []string{nearest}
	}
	return nil, apiError(http.StatusNotFound, "there is no zone %q: use one of %q", name, names)
}

// definition returns the configuration of a zone, in the syntax of this package.
func (a *runningApp) definition(zone string) *config.Zone {
	a.mu.Lock()
	defer a.mu.Unlock()
	settings := a.definitions[zone]
	if settings.Legacy() {
		if own, err := config.FromLegacy(settings); err == nil {
			return own
		}
	}
	return settings
}

// nodeName returns the name of this node.
func (a *runningApp) nodeName() string {
	if m := a.store.nodes; m != nil {
		return m.Name()
	}
	self, _ := os.Hostname() // no name is no error here
	return self
}
