package fleetlimit

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/limiter"
)

// unavailable reports whether the request is rejected because its count is not available.
func (r *zoneResult) unavailable() bool {
	return r.outage && !r.decision.OK && r.rule.OnOutage == limiter.OutageClosed
}

// outweighs reports whether the response describes the rejection r rather than other: a limit that
// is exceeded rather than a count that is not available, or else the one with the longer wait.
func (r *zoneResult) outweighs(other *zoneResult) bool {
	if r.unavailable() != other.unavailable() {
		return other.unavailable()
	}
	return r.wait() > other.wait()
}

// errUnavailable is the error that error routes get while a count is not available.
var errUnavailable = errors.New("rate limit is not available")

// newUnavailableBodies returns the bodies of responses while the counts of a zone are not
// available, up to the value of retry_after_seconds.
func newUnavailableBodies(zone string) (jsonBody, problemBody string) {
	const message = "Requests cannot be counted at the moment"
	name, _ := json.Marshal(zone) // Marshal never fails for a string
	return `{"error":{"code":"TEMPORARILY_UNAVAILABLE","message":"` + message + `","details":{"zone":` + string(name) +
			`,"retry_after_seconds":`,
		`{"type":"https://iana.org/assignments/http-problem-types#temporary-reduced-capacity",` +
			`"title":"Service Unavailable","status":503,"detail":"` + message + `","violated-policies":[` + string(name) +
			`],"retry_after_seconds":`
}

// rejectUnavailable answers 503.
func (e *evaluation) rejectUnavailable(w http.ResponseWriter, denied *zoneResult, style string, retry int64) error {
	if style == config.RejectError {
		return caddyhttp.HandlerError{Err: errUnavailable, StatusCode: http.StatusServiceUnavailable}
	}
	contentType := typeJSON
	if style == config.RejectProblem {
		contentType = typeProblem
	}
	e.body = denied.appendUnavailable(e.body[:0], style, retry)
	e.write(w, http.StatusServiceUnavailable, contentType)
	return nil
}

func (r *zoneResult) appendUnavailable(b []byte, style string, retry int64) []byte {
	if style == config.RejectProblem {
		b = strconv.AppendInt(append(b, r.rule.texts.unavailableProblem...), retry, 10)
		return append(b, "}\n"...)
	}
	b = strconv.AppendInt(append(b, r.rule.texts.unavailable...), retry, 10)
	return append(b, "}}}\n"...)
}
