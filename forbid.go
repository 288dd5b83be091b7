package fleetlimit

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"go.uber.org/zap"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/internal/adminapi"
	"github.com/fleetlimit/fleetlimit/internal/keytemplate"
)

// forbidden is why a request gets 403, or 400 if what it counts by is not clear, whatever its rate
// is.
type forbidden struct {
	reason *forbidReason         // nil: it does not get them
	zone   *zone                 // nil: the handler itself forbids it
	key    *keytemplate.Template // nil: the request has no key
}

// A forbidReason is what clients and logs read about a 403 or 400.
type forbidReason struct {
	status        int
	name, message string
}

var (
	deniedAddress = &forbidReason{http.StatusForbidden, "denied_address", "The client's address is denied"}
	deniedKey     = &forbidReason{http.StatusForbidden, "denied_key", "The key is denied"}
	noKey         = &forbidReason{http.StatusForbidden, "missing_key", "The request has no key"}

	noSubstitute = &forbidReason{http.StatusBadRequest, "missing_key",
		"The request has neither the key nor what stands in for it"}
	ambiguousKey  = &forbidReason{http.StatusBadRequest, "ambiguous_key", "The key" + isAmbiguous}
	ambiguousTier = &forbidReason{http.StatusBadRequest, "ambiguous_tier", "The tier" + isAmbiguous}
	ambiguousCost = &forbidReason{http.StatusBadRequest, "ambiguous_cost", "The cost" + isAmbiguous}
)

const isAmbiguous = " is ambiguous: use its header or query parameter once, in its own spelling"

// Why a request passes limits, in tails.
const (
	allowedAddress = "allowed_address"
	allowedKey     = "allowed_key"
)

// forbidAmbiguous counts a value of the zone that is ambiguous. It forbids the request for a
// reason, unless an ambiguous value counts as a missing one, and reports whether it does.
func (e *evaluation) forbidAmbiguous(z *zone, presence keytemplate.Presence, reason *forbidReason) bool {
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
	e.forbidden = forbidden{zone: z, reason: &forbidReason{
		http.StatusBadRequest, "ambiguous_path", "The" + strings.TrimPrefix(why.Error(), "the"),
	}}
}

// forbid answers 403 or 400. The zones before the one that forbids the request have decided nothing
// yet.
func (e *evaluation) forbid(w http.ResponseWriter) error {
	e.rollback()
	e.attachState()
	f := &e.forbidden
	again := f.zone == nil && e.state.forbidden == f.reason // error routes have a handler, too
	e.state.forbidden = f.reason
	switch {
	case again:
	case f.zone == nil:
		metrics.addresses.Denied.Add(1)
	default:
		f.zone.usage.Denied.Add(1)
		e.state.exceeded = f.zone.name
	}
	if !again {
		e.publish(decided{outcome: adminapi.Denied, zone: f.zone, key: f.key, reason: f.reason.name})
		e.reportForbidden()
	}
	w.Header()["Cache-Control"] = noStore
	switch e.handler.styleOf(f.zone) {
	case config.RejectError:
		return caddyhttp.HandlerError{Err: errors.New(f.reason.message), StatusCode: f.reason.status}
	case config.RejectProblem:
		e.body = f.appendProblem(e.body[:0])
		e.write(w, f.reason.status, typeProblem)
	default:
		e.body = f.appendJSON(e.body[:0])
		e.write(w, f.reason.status, typeJSON)
	}
	return nil
}

// details returns the reason and the zone as members of a JSON object.
func (f *forbidden) details() string {
	details := `"reason":"` + f.reason.name + `"`
	if f.zone != nil {
		name, _ := json.Marshal(f.zone.name) // Marshal never fails for a string
		details = `"zone":` + string(name) + "," + details
	}
	return details
}

func (f *forbidden) appendJSON(b []byte) []byte {
	code := "FORBIDDEN"
	if f.reason.status == http.StatusBadRequest {
		code = "BAD_REQUEST"
	}
	b = append(b, `{"error":{"code":"`+code+`","message":"`+f.reason.message+`","details":{`...)
	b = append(b, f.details()...)
	return append(b, "}}}\n"...)
}

func (f *forbidden) appendProblem(b []byte) []byte {
	b = append(b, `{"type":"about:blank","title":"`+http.StatusText(f.reason.status)+`","status":`...)
	b = strconv.AppendInt(b, int64(f.reason.status), 10)
	b = append(b, `,"detail":"`+f.reason.message+`",`...)
	b = append(b, f.details()...)
	return append(b, "}\n"...)
}

// reportForbidden logs a 403 or 400.
func (e *evaluation) reportForbidden() {
	f := &e.forbidden
	logs, unlogged := e.handler.logsForbidden(f.zone)
	if !logs {
		return
	}
	about := []zap.Field{zap.String("reason", f.reason.name)}
	if f.zone != nil {
		about = append(about, zap.String("zone", f.zone.name))
	}
	e.log("request denied", f.reason.status, f.key, unlogged, about...)
}
