package fleetlimit

import (
	"cmp"
	"net/http"
	"strings"
	"time"

	"github.com/caddyserver/caddy/v2"
	"go.uber.org/zap"
)

// An emergencyRequest is the body of POST /rate_limit/emergency.
type emergencyRequest struct {
	Limit     string `json:"limit"`      // of each address. Default: 10/1s
	ExpiresIn string `json:"expires_in"` // Default: 15m
	Reason    string `json:"reason"`     // for the log
}

const (
	exampleEmergency   = `{"limit": "10/1s", "expires_in": "15m", "reason": "flood"}`
	defaultEmergency   = "10/1s"
	defaultExpiresIn   = "15m"
	maxEmergency       = 24 * time.Hour
	maxEmergencyReason = 1000 // bytes
)

// parse returns the emergency that is asked for.
func (r *emergencyRequest) parse() (*emergency, error) {
	limit, err := parseRate(strings.Fields(cmp.Or(r.Limit, defaultEmergency)))
	switch {
	case err != nil:
		return nil, apiError(http.StatusBadRequest, "limit: %w", err)
	case limit.Unlimited:
		return nil, apiError(http.StatusBadRequest, "limit: unlimited is no emergency: use DELETE to end one")
	case limit.Block:
		return nil, apiError(http.StatusBadRequest, "limit: block is no limit for each address: use a rate such as 1/1m")
	}
	expiresIn, err := caddy.ParseDuration(cmp.Or(r.ExpiresIn, defaultExpiresIn))
	switch {
	case err != nil:
		return nil, apiError(http.StatusBadRequest, "expires_in: %q is not a duration: use one such as 15m", r.ExpiresIn)
	case expiresIn <= 0:
		return nil, apiError(http.StatusBadRequest, "expires_in: %s is over already: use DELETE to end an emergency",
			r.ExpiresIn)
	case expiresIn > maxEmergency:
		return nil, apiError(http.StatusBadRequest, "expires_in: %s is too long: use 24h or less, and prolong it by another "+
			"POST, or use a zone for a lasting limit", r.ExpiresIn)
	case len(r.Reason) > maxEmergencyReason:
		return nil, apiError(http.StatusBadRequest, "reason: it has %d bytes: use at most %d",
			len(r.Reason), maxEmergencyReason)
	}
	return &emergency{limit: limit, expiresIn: expiresIn, reason: r.Reason}, nil
}

// An emergencyAnswer describes whether emergency mode is on.
type emergencyAnswer struct {
	Active    bool       `json:"active"`
	Limit     string     `json:"limit,omitempty"`
	Reason    string     `json:"reason,omitempty"`
	StartedBy string     `json:"started_by,omitempty"`
	StartedAt *time.Time `json:"started_at,omitempty"`
	ExpiresAt *time.Time `json:"expires_at,omitempty"`
}

// writeEmergency answers with e, which may be nil.
func writeEmergency(w http.ResponseWriter, e *emergency) {
	var answer emergencyAnswer
	if e != nil {
		started, expires := e.startedAt.UTC(), e.expiresAt.UTC()
		answer = emergencyAnswer{
			Active: true, Limit: e.limit.String(), Reason: e.reason, StartedBy: e.startedBy,
			StartedAt: &started, ExpiresAt: &expires,
		}
	}
	writeJSON(w, http.StatusOK, answer)
}

// getEmergency answers GET /rate_limit/emergency.
func getEmergency(w http.ResponseWriter, _ *http.Request) error {
	writeEmergency(w, emergencyMode.active(time.Now()))
	return nil
}

// postEmergency answers POST /rate_limit/emergency, which switches emergency mode on or changes it.
func postEmergency(w http.ResponseWriter, r *http.Request) error {
	var body emergencyRequest
	if err := readJSON(w, r, &body, exampleEmergency); err != nil {
		return err
	}
	e, err := body.parse()
	if err != nil {
		return err
	}
	e.startedBy = r.RemoteAddr
	if err := emergencyMode.start(e); err != nil {
		return caddy.APIError{HTTPStatus: http.StatusBadRequest, Err: err}
	}
	writeEmergency(w, e)
	return nil
}

// deleteEmergency answers DELETE /rate_limit/emergency, which switches emergency mode off.
func deleteEmergency(w http.ResponseWriter, r *http.Request) error {
	if e := emergencyMode.current.Load(); e != nil {
		emergencyMode.end(e, "emergency mode is off", zap.String("by", r.RemoteAddr))
	}
	writeEmergency(w, nil)
	return nil
}
