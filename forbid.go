package fleetlimit

import (
	"net/http"
	"strings"

	"go.uber.org/zap"

	"github.com/fleetlimit/fleetlimit/internal/adminapi"
	"github.com/fleetlimit/fleetlimit/internal/keytemplate"
	"github.com/fleetlimit/fleetlimit/internal/response"
	"github.com/fleetlimit/fleetlimit/internal/usage"
)

// forbidden is the refusal of a request.
type forbidden struct {
	reason *response.Refusal     // nil: there is none
	zone   *zone                 // nil: the handler itself refuses it
	key    *keytemplate.Template // nil: the request has no key
}

var (
	deniedAddress = &response.Refusal{Status: http.StatusForbidden, Reason: "denied_address", Message: "The client's address is denied"}
	deniedKey     = &response.Refusal{Status: http.StatusForbidden, Reason: "denied_key", Message: "The key is denied"}
	noKey         = &response.Refusal{Status: http.StatusForbidden, Reason: "missing_key", Message: "The request has no key"}

	noSubstitute = &response.Refusal{Status: http.StatusBadRequest, Reason: "missing_key",
		Message: "The request has neither the key nor what stands in for it"}
	ambiguousKey  = &response.Refusal{Status: http.StatusBadRequest, Reason: "ambiguous_key", Message: "The key" + isAmbiguous}
	ambiguousTier = &response.Refusal{Status: http.StatusBadRequest, Reason: "ambiguous_tier", Message: "The tier" + isAmbiguous}
	ambiguousCost = &response.Refusal{Status: http.StatusBadRequest, Reason: "ambiguous_cost", Message: "The cost" + isAmbiguous}
)

const isAmbiguous = " is ambiguous: use its header or query parameter once, in its own spelling"

// Why a request passes limits, in tails.
const (
	allowedAddress = "allowed_address"
	allowedKey     = "allowed_key"
)

// forbidAmbiguous counts a value of the zone that is ambiguous. It forbids the request for a
// reason, unless an ambiguous value counts as a missing one, and reports whether it does.
func (e *evaluation) forbidAmbiguous(z *zone, presence keytemplate.Presence, reason *response.Refusal) bool {
	if presence < keytemplate.AmbiguousCookie {
		return false
	}
	z.usage.Ambiguous.Add(1)
	if presence == keytemplate.AmbiguousCookie || z.ambiguousIsMissing {
		return false
	}
	e.forbidden = forbidden{reason: reason, zone: z}
	return true
}

// forbidPath forbids a request whose path the zone cannot tell from others.
func (e *evaluation) forbidPath(z *zone, why error) {
	z.usage.Ambiguous.Add(1)
	e.forbidden = forbidden{zone: z, reason: &response.Refusal{
		Status: http.StatusBadRequest, Reason: "ambiguous_path", Message: "The" + strings.TrimPrefix(why.Error(), "the"),
	}}
}

// forbid answers 403 or 400. The zones before the one that forbids the request have decided nothing
// yet.
func (e *evaluation) forbid(w http.ResponseWriter) error {
	e.rollback()
	e.attachState()
	f := &e.forbidden
	again := f.zone == nil && e.state.Refusal == f.reason // error routes have a handler, too
	e.state.Refusal = f.reason
	switch {
	case again:
	case f.zone == nil:
		metrics.addresses.Denied.Add(1)
	default:
		f.zone.usage.Denied.Add(1)
		e.state.Exceeded = f.zone.name
	}
	if !again {
		e.publish(decided{outcome: adminapi.Denied, zone: f.usage(), key: f.key, reason: f.reason.Reason})
		e.reportForbidden()
	}
	zone, legacy := "", false
	if f.zone != nil {
		zone, legacy = f.zone.name, f.zone.legacy
	}
	return f.reason.Write(w, zone, e.handler.styleOf(legacy), &e.body)
}

// reportForbidden logs a 403 or 400.
func (e *evaluation) reportForbidden() {
	f := &e.forbidden
	logs, unlogged := e.handler.logsForbidden(f.zone)
	if !logs {
		return
	}
	about := []zap.Field{zap.String("reason", f.reason.Reason)}
	if f.zone != nil {
		about = append(about, zap.String("zone", f.zone.name))
	}
	e.log("request denied", f.reason.Status, f.key, unlogged, about...)
}

// usage returns the counters of the zone that refuses the request, nil if the handler itself does.
func (f *forbidden) usage() *usage.Zone {
	if f.zone == nil {
		return nil
	}
	return f.zone.usage
}
