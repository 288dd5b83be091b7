package evaluate

import (
	"net/http"

	"github.com/fleetlimit/fleetlimit/internal/key/keytemplate"
	"github.com/fleetlimit/fleetlimit/internal/observe/usage"
	"github.com/fleetlimit/fleetlimit/internal/request/report"
	"github.com/fleetlimit/fleetlimit/internal/request/response"
)

// A refused is why a request is refused, whatever is left of its limits. The status is 403; 400 if it is not
// clear what the request counts by; 408 if its body came too slowly; 503 if the upstream is overloaded.
type refused struct {
	refusal *response.Refusal       // nil if the request is not refused
	zone    *response.ZoneResponses // nil if the handler itself refuses it
	key     *keytemplate.Template   // nil if the request has no key
}

var deniedAddress = &response.Refusal{
	Status: http.StatusForbidden, Reason: "denied_address", Message: "The client's address is denied",
}

// The reasons why a request passes limits, as tails show them.
const (
	allowedAddress = "allowed_address"
	allowedKey     = "allowed_key"
)

// reject answers a request that is not admitted: with the status of its refusal, with 429, or with 503 while
// the count that it needs is not available.
func (e *Evaluation) reject(w http.ResponseWriter) error {
	f := &e.refused
	again := f.zone == nil && e.state != nil && e.state.Refusal == f.refusal // an error route may have a handler, too
	a := e.rejection()
	a.Wait = a.Settings.Lengthen(a.Wait)
	e.trace()
	if a.Refusal != nil {
		e.reportRefusal(again)
	} else {
		e.handler.Reports.Rejected(e.subject(), e.denied, e.named(), a.Wait)
	}
	return e.state.Reject(w, e.HTTP, e.Repl, &a, e.first, &e.body)
}

// rejection returns why the request is not admitted, and makes that known to later handlers. Its wait has no
// jitter. If a zone refuses the request, the zones before it have decided nothing, and there are no results.
func (e *Evaluation) rejection() response.Rejection {
	a := response.Rejection{Settings: e.handler.Settings, Refusal: e.refused.refusal, Zone: e.refused.zone}
	if a.Refusal != nil {
		e.attachState()
		e.state.Refusal, a.Wait = a.Refusal, a.Refusal.Wait
	} else {
		a.Denied, a.Zone, a.Wait = e.denied, e.named().ZoneResponses, e.denied.BoundedWait()
	}
	if a.Zone != nil {
		e.state.Exceeded = a.Zone.Usage.Name
	}
	return a
}

// named returns the result whose zone the response to a denied request names.
func (e *Evaluation) named() *response.Result {
	if e.denied.Legacy {
		return e.state.HighestRate(e.first)
	}
	return e.denied
}

// reportRefusal counts, publishes and logs a refusal. again says that an earlier handler has refused the
// request for the same reason.
func (e *Evaluation) reportRefusal(again bool) {
	f, counters := &e.refused, (*usage.ZoneCounters)(nil)
	if f.zone != nil {
		counters = f.zone.Usage
		if f.refusal.IsOverload() {
			counters.Overloaded.Add(1)
		} else {
			counters.Denied.Add(1)
		}
		e.noteKey(counters, f.key)
	} else if !again {
		e.handler.Reports.Addresses.Denied.Add(1)
	}
	if !again {
		e.publish(report.Decision{
			Outcome: report.OutcomeOfRefusal(f.refusal), Zone: counters, Key: f.key, Reason: f.refusal.Reason, Status: f.refusal.Status,
		})
		e.handler.Reports.Refused(e.subject(), f.zone, f.key, f.refusal)
	}
}
