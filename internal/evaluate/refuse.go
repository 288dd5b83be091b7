package evaluate

import (
	"net/http"
	"sync/atomic"

	"github.com/fleetlimit/fleetlimit/internal/keytemplate"
	"github.com/fleetlimit/fleetlimit/internal/report"
	"github.com/fleetlimit/fleetlimit/internal/response"
	"github.com/fleetlimit/fleetlimit/internal/usage"
	"github.com/fleetlimit/fleetlimit/internal/zone"
)

// A refused request gets 403, or 400 if what it counts by is not clear, or 503 if the upstream is
// overloaded, whatever its rate is.
type refused struct {
	refusal *response.Refusal     // nil: the request is not refused
	zone    *zone.Zone            // nil: the handler itself refuses it
	key     *keytemplate.Template // nil: the request has no key
}

var deniedAddress = &response.Refusal{
	Status: http.StatusForbidden, Reason: "denied_address", Message: "The client's address is denied",
}

// Why a request passes limits, in tails.
const (
	allowedAddress = "allowed_address"
	allowedKey     = "allowed_key"
)

// Refuse answers 403, 400 or 503. The zones before the one that refuses the request have decided nothing
// yet.
func (e *Evaluation) Refuse(w http.ResponseWriter) error {
	again := e.setRefusal()
	e.trace()
	f := &e.refused
	legacy, counters := false, (*usage.Zone)(nil)
	if f.zone != nil {
		legacy, counters = f.zone.Legacy, f.zone.Usage
		f.count().Add(1)
		e.noteKey(counters, f.key)
	} else if !again {
		e.handler.Reports.Addresses.Denied.Add(1)
	}
	if !again {
		e.publish(report.Decision{
			Outcome: report.OutcomeOfRefusal(f.refusal), Zone: counters, Key: f.key, Reason: f.refusal.Reason, Status: f.refusal.Status,
		})
		e.handler.Reports.Refused(e.subject(), counters, legacy, f.key, f.refusal)
	}
	return e.writeRefusal(w)
}

// count returns what counts refusals like this one by its zone.
func (f *refused) count() *atomic.Uint64 {
	if f.refusal.IsOverload() {
		return &f.zone.Usage.Overloaded
	}
	return &f.zone.Usage.Denied
}

// setRefusal makes the refusal the state of the request, and reports whether it was before: error
// routes have a handler, too.
func (e *Evaluation) setRefusal() (again bool) {
	e.Rollback()
	e.attachState()
	f := &e.refused
	again = f.zone == nil && e.state.Refusal == f.refusal
	if e.state.Refusal = f.refusal; f.zone != nil {
		e.state.Exceeded = f.zone.Name
	}
	return again
}

func (e *Evaluation) writeRefusal(w http.ResponseWriter) error {
	name, legacy := "", false
	if z := e.refused.zone; z != nil {
		name, legacy = z.Name, z.Legacy
		z.RejectHeaders.Set(w.Header(), e.HTTP, e.Repl)
	}
	if e.refused.refusal.IsOverload() {
		e.setRetryAfter(w)
	}
	return e.refused.refusal.Write(w, name, e.handler.Settings.Style(legacy), &e.body)
}
