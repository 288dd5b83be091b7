package report

import (
	"github.com/fleetlimit/fleetlimit/internal/adminapi"
	"github.com/fleetlimit/fleetlimit/internal/response"
)

// OutcomeOf returns what is decided about a request, as metrics call it.
func OutcomeOf(r *response.Result) string {
	switch {
	case r.Unavailable():
		return adminapi.Unavailable
	case !r.Decision.OK:
		return adminapi.Rejected
	case r.Outage:
		return adminapi.Degraded
	case r.IsQueued():
		return adminapi.Queued
	}
	return adminapi.Admitted
}

// OutcomeOfRefusal returns what a refusal is called.
func OutcomeOfRefusal(f *response.Refusal) string {
	if f.IsOverload() {
		return adminapi.Overloaded
	}
	return adminapi.Denied
}
