package fleetlimit

import (
	_ "embed"
	"net/http"
)

// openAPI is the description of the admin API.
//
//go:embed openapi.json
var openAPI []byte

// getOpenAPI answers GET /rate_limit/openapi.json.
func getOpenAPI(w http.ResponseWriter, _ *http.Request) error {
	w.Header()["Content-Type"] = typeJSON
	w.Header()["Cache-Control"] = noStore
	_, _ = w.Write(openAPI) // it fails if the client has gone, which needs no error
	return nil
}
