package adminapi

import (
	"net/http"

	"github.com/fleetlimit/fleetlimit/internal/api"
)

const exampleTry = `{"limit": "60/1m"}`

// postTry answers POST /rate_limit/zones/{zone}/try.
func postTry(c Running, w http.ResponseWriter, r *http.Request) (any, error) {
	var body api.TryRequest
	if err := readJSON(w, r, &body, exampleTry); err != nil {
		return nil, err
	}
	zone, err := zoneOf(c, r, body.Endpoint)
	if err != nil {
		return nil, err
	}
	return orMistake(c.Try(zone, &body))
}
