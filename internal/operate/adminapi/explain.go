package adminapi

import (
	"net/http"

	"github.com/fleetlimit/fleetlimit/internal/api"
)

const exampleExplain = `{"uri": "/export", "headers": {"X-Api-Key": ["sk_live_1"]}}`

// postExplain answers POST /rate_limit/explain.
func postExplain(c *Running, w http.ResponseWriter, r *http.Request) (any, error) {
	var body api.ExplainRequest
	if err := readJSON(w, r, &body, exampleExplain); err != nil {
		return nil, err
	}
	return orMistake(c.Explain(r.Context(), &body))
}
