package adminapi

import "net/http"

// postPlan answers POST /rate_limit/plan. The body is a configuration of Caddy.
func postPlan(c *Running, w http.ResponseWriter, r *http.Request) (any, error) {
	body, _, err := readBody(w, r, maxRulesBody, mediaJSON)
	if err != nil {
		return nil, err
	}
	return orMistake(c.Plan(r.Context(), body))
}
