package adminapi

import (
	"net/http"

	"github.com/fleetlimit/fleetlimit/internal/api"
)

const exampleExplain = `{"uri": "/export", "headers": {"X-Api-Key": ["sk_live_1"]}}`

// postExplain answers POST /rate_limit/explain.
func postExplain(c *Running, _ http.ResponseWriter, r *http.Request, body *api.ExplainRequest) (any, error) {
	return orMistake(c.Explain(r.Context(), body))
}
