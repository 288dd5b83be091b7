package gateway

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/internal/fleet/rulewatch"
	"github.com/fleetlimit/fleetlimit/internal/fleet/stores"
	"github.com/fleetlimit/fleetlimit/internal/operate/adminapi"
)

// readiness returns the health of this node.
func readiness() api.Readiness {
	r := stores.Readiness()
	for _, w := range rulewatch.All() {
		if !w.Known() {
			r.AddUnreadRules(w.Store().Name(), w.Failing().Err)
		}
	}
	if caddy.Exiting() {
		r.Status = api.HealthDraining
	}
	return r
}

// CheckProbe returns an error if health checks know no such probe. An empty probe is `ready`.
func CheckProbe(probe string) error {
	if probe != "" && !slices.Contains(api.Probes, probe) {
		return fmt.Errorf("probe is %q: use live, serving or ready", probe)
	}
	return nil
}

// ServeHealth answers a health check that comes to a site, for a probe.
func ServeHealth(w http.ResponseWriter, r *http.Request, probe string) error {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		return caddyhttp.Error(http.StatusMethodNotAllowed, fmt.Errorf("a health check with %s: use GET or HEAD", r.Method))
	}
	status := api.HealthOK
	if probe != api.ProbeLive && draining(r) {
		status = api.HealthDraining
	} else if probe != api.ProbeLive && probe != api.ProbeServing {
		status = readiness().Status
	}
	adminapi.WriteHealth(w, status, api.Health{Status: status})
	return nil
}
