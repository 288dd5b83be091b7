package report

import (
	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/internal/request/response"
)

// OutcomeOf returns the outcome of a result, in the words of metrics.
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

// OutcomeOfRefusal returns the outcome of a refusal.
func OutcomeOfRefusal(f *response.Refusal) string {
	if f.IsOverload() {
		return api.Overloaded
	}
	return api.Denied
}
