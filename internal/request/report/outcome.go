package report

import (
	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/internal/request/response"
)

// OutcomeOf returns what is decided about a request, as metrics call it.
func OutcomeOf(r *response.Result) string {
	switch {
	case r.Unavailable():
		return api.Unavailable
	case !r.Decision.OK:
		return api.Rejected
	case r.Failure != nil:
		return api.Degraded
	case r.IsQueued():
		return api.Queued
	}
	return api.Admitted
}

// OutcomeOfRefusal returns what a refusal is called.
func OutcomeOfRefusal(f *response.Refusal) string {
	if f.IsOverload() {
		return api.Overloaded
	}
	return api.Denied
}
