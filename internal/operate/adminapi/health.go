package adminapi

import (
	"net/http"

	"github.com/fleetlimit/fleetlimit/internal/api"
)

// getLive answers GET /rate_limit/health/live.
func getLive(_ *Process, w http.ResponseWriter, _ *http.Request) (any, error) {
	WriteHealth(w, api.HealthOK, api.Health{Status: api.HealthOK})
	return nil, nil
}

// getServing answers GET /rate_limit/health/serving.
func getServing(p *Process, w http.ResponseWriter, _ *http.Request) (any, error) {
	status := api.HealthOK
	if p.Readiness().Status == api.HealthDraining {
		status = api.HealthDraining
	}
	WriteHealth(w, status, api.Health{Status: status})
	return nil, nil
}

// getReady answers GET /rate_limit/health/ready.
func getReady(p *Process, w http.ResponseWriter, _ *http.Request) (any, error) {
	r := p.Readiness()
	WriteHealth(w, r.Status, r)
	return nil, nil
}

// WriteHealth answers a health check with 200, or 503 if the status is not ok.
func WriteHealth(w http.ResponseWriter, status api.HealthStatus, body any) {
	code := http.StatusOK
	if status != api.HealthOK {
		code = http.StatusServiceUnavailable
	}
	writeJSON(w, code, body)
}
