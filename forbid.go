package fleetlimit

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"go.uber.org/zap"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/internal/adminapi"
	"github.com/fleetlimit/fleetlimit/internal/keytemplate"
)

// forbidden is why a request gets 403, whatever its rate is.
type forbidden struct {
	reason *forbidReason         // nil: it does not get 403
	zone   *zone                 // nil: the handler itself forbids it
	key    *keytemplate.Template // nil: the request has no key
}

// A forbidReason is what clients and logs read about a 403.
type forbidReason struct{ name, message string }

var (
	deniedAddress = &forbidReason{"denied_address", "The client's address is denied"}
	deniedKey     = &forbidReason{"denied_key", "The key is denied"}
	noKey         = &forbidReason{"missing_key", "The request has no key"}
)

// Why a request passes limits, in tails.
const (
	allowedAddress = "allowed_address"
	allowedKey     = "allowed_key"
)

// forbid answers 403. The zones before the one that forbids the request have decided nothing yet.
func (e *evaluation) forbid(w http.ResponseWriter) error {
	e.rollback()
	e.attachState()
	f := &e.forbidden
	e.state.forbidden = f.reason
	if f.zone == nil {
		metrics.addressDenied.Add(1)
	} else {
		f.zone.counters.denied.Add(1)
		e.state.exceeded = f.zone.name
	}
	e.publish(decided{outcome: adminapi.Denied, zone: f.zone, key: f.key, reason: f.reason.name})
	e.reportForbidden()
	w.Header()["Cache-Control"] = noStore
	switch e.handler.styleOf(f.zone) {
	case config.RejectError:
		return caddyhttp.HandlerError{Err: errors.New(f.reason.message), StatusCode: http.StatusForbidden}
	case config.RejectProblem:
		e.body = f.appendProblem(e.body[:0])
		e.write(w, http.StatusForbidden, typeProblem)
	default:
		e.body = f.appendJSON(e.body[:0])
		e.write(w, http.StatusForbidden, typeJSON)
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
	b = append(b, `{"error":{"code":"FORBIDDEN","message":"`+f.reason.message+`","details":{`...)
	b = append(b, f.details()...)
	return append(b, "}}}\n"...)
}

func (f *forbidden) appendProblem(b []byte) []byte {
	b = append(b, `{"type":"about:blank","title":"Forbidden","status":403,"detail":"`+f.reason.message+`",`...)
	b = append(b, f.details()...)
	return append(b, "}\n"...)
}

// reportForbidden logs a 403.
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
	e.log("request denied", http.StatusForbidden, f.key, unlogged, about...)
}
