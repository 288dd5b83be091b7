package adminapi

import (
	"fmt"
	"net/http"
	"time"

	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/internal/observe/usage"
	"github.com/fleetlimit/fleetlimit/internal/operate/inspect"
	"github.com/fleetlimit/fleetlimit/internal/operate/replay"
)

const exampleTry = `{"limit": "60/1m"}`

// postTry answers POST /rate_limit/zones/{zone}/try.
func postTry(c *Running, _ http.ResponseWriter, r *http.Request, body *api.TryRequest) (any, error) {
	zone, err := zoneOf(c, r, body.Endpoint)
	if err != nil {
		return nil, err
	}
	used := usage.Find(zone)
	if used == nil {
		return orMistake(nil, fmt.Errorf("zone %q limits nothing any more: use a zone of the running configuration", zone))
	}
	t, err := replay.Try(used, inspect.Counted(c.Snapshot, zone), time.Now(), body)
	if err == nil {
		t.Node, t.Nodes = c.Store.Node(), c.Store.Nodes()
	}
	return orMistake(t, err)
}
