package adminapi

import (
	"net/http"

	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/internal/operate/inspect"
)

const exampleInspect = `{"key": "sk_live_1"}`

// postInspect answers POST /rate_limit/zones/{zone}/inspect.
func postInspect(c *Running, _ http.ResponseWriter, r *http.Request, body *api.InspectRequest) (any, error) {
	zone, err := zoneOf(c, r, body.Endpoint)
	if err != nil {
		return nil, err
	}
	known, err := storedByHash(r.Context(), c, zone, &body.ShownKeyName)
	if err != nil {
		return nil, err
	}
	answer, err := inspect.Key(r.Context(), c.Snapshot, c.Store, zone, body)
	if err != nil {
		return nil, apiError(http.StatusBadRequest, "%w", err)
	}
	if known != nil {
		shown := known.Shown
		shown.Missing = answer.Missing // the request may say this of a digest
		answer.ShownKey = shown
	}
	return answer, nil
}
