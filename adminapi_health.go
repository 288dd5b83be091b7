package fleetlimit

import (
	"net/http"

	"github.com/fleetlimit/fleetlimit/internal/adminapi"
)

// serveLive answers GET /rate_limit/health/live.
func serveLive(w http.ResponseWriter, _ *http.Request) error {
	writeHealth(w, adminapi.HealthOK, adminapi.Health{Status: adminapi.HealthOK})
	return nil
}

// serveReady answers GET /rate_limit/health/ready.
func serveReady(w http.ResponseWriter, _ *http.Request) error {
	r := readReadiness()
	writeHealth(w, r.Status, r)
	return nil
}
