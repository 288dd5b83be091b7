package fleetlimit

import "net/http"

// serveLive answers GET /rate_limit/health/live.
func serveLive(w http.ResponseWriter, _ *http.Request) error {
	writeHealth(w, statusOK, healthAnswer{Status: statusOK})
	return nil
}

// serveReady answers GET /rate_limit/health/ready.
func serveReady(w http.ResponseWriter, _ *http.Request) error {
	r := readReadiness()
	writeHealth(w, r.Status, r)
	return nil
}
