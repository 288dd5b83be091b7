package fleetlimit

import (
	"net/http"

	"github.com/fleetlimit/fleetlimit/internal/adminapi"
)

// getOpenAPI answers GET /rate_limit/openapi.json.
func getOpenAPI(w http.ResponseWriter, _ *http.Request) error {
	w.Header()["Content-Type"] = typeJSON
	w.Header()["Cache-Control"] = noStore
	_, _ = w.Write(adminapi.OpenAPI) // it fails if the client has gone, which needs no error
	return nil
}
