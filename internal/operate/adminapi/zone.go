package adminapi

import (
	"net/http"

	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/internal/operate/inspect"
)

// getZones answers GET /rate_limit/zones.
func getZones(c *Running, _ http.ResponseWriter, _ *http.Request) (any, error) {
	zones := []api.ZoneLimits{}
	for _, name := range c.Schema().Zones() {
		zones = append(zones, inspect.Zone(c.Snapshot, name))
	}
	return api.Zones{Zones: zones}, nil
}

// getZone answers GET /rate_limit/zones/{zone}.
func getZone(c *Running, w http.ResponseWriter, r *http.Request) (any, error) {
	zone, err := zoneOf(c, r, "")
	if err != nil {
		return nil, err
	}
	return inspect.Zone(c.Snapshot, zone), nil
}
