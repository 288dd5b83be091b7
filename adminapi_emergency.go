package fleetlimit

import (
	"cmp"
	"net/http"
	"time"

	"github.com/caddyserver/caddy/v2"
	"go.uber.org/zap"

	"github.com/fleetlimit/fleetlimit/internal/adminapi"
	"github.com/fleetlimit/fleetlimit/rules"
)

// An emergencyRequest is the body of POST /rate_limit/emergency.
type emergencyRequest struct {
	Limit     string `json:"limit"`      // of each address. Default: 10/1s
	ExpiresIn string `json:"expires_in"` // Default: 15m
	Reason    string `json:"reason"`     // for the log
	AllNodes  bool   `json:"all_nodes"`  // by a version of the rules. Default: this node alone
}

const (
	exampleEmergency   = `{"limit": "10/1s", "expires_in": "15m", "reason": "flood"}`
	maxEmergency       = 24 * time.Hour
	maxEmergencyReason = 1000 // bytes
)

// parse returns the emergency that is asked for.
func (r *emergencyRequest) parse() (*emergency, error) {
	limit, err := parseEmergencyLimit(cmp.Or(r.Limit, adminapi.DefaultEmergency))
	if err != nil {
		return nil, apiError(http.StatusBadRequest, "limit: %w", err)
	}
	expiresIn, err := caddy.ParseDuration(cmp.Or(r.ExpiresIn, adminapi.DefaultExpiresIn))
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

// newEmergencyAnswer describes e, which may be nil.
func newEmergencyAnswer(e *emergency) adminapi.Emergency {
	if e == nil {
		return adminapi.Emergency{}
	}
	started, expires := e.startedAt.UTC(), e.expiresAt.UTC()
	return adminapi.Emergency{
		Active: true, Limit: e.limit.String(), Reason: e.reason, StartedBy: e.startedBy,
		StartedAt: &started, ExpiresAt: &expires, AllNodes: e.rules != nil,
	}
}

// getEmergency answers GET /rate_limit/emergency.
func getEmergency(w http.ResponseWriter, _ *http.Request) error {
	writeJSON(w, http.StatusOK, newEmergencyAnswer(emergencyMode.active(time.Now())))
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
	if body.AllNodes {
		expires := time.Now().Add(e.expiresIn).UTC().Truncate(time.Millisecond)
		return changeEmergency(w, r, &rules.Emergency{Limit: e.limit.String(), ExpiresAt: &expires, Reason: e.reason})
	}
	e.startedBy = clientOf(r)
	if err := emergencyMode.start(e); err != nil {
		return caddy.APIError{HTTPStatus: http.StatusBadRequest, Err: err}
	}
	writeJSON(w, http.StatusOK, newEmergencyAnswer(e))
	return nil
}

// deleteEmergency answers DELETE /rate_limit/emergency, which switches emergency mode off.
func deleteEmergency(w http.ResponseWriter, r *http.Request) error {
	allNodes, err := queryBool(r, "all_nodes")
	if err != nil {
		return err
	}
	if allNodes {
		return changeEmergency(w, r, nil)
	}
	e := emergencyMode.current.Load()
	if e != nil && e.rules != nil {
		return apiError(http.StatusConflict, "emergency mode is on at all nodes: use DELETE /rate_limit/emergency?all_nodes=true")
	}
	if e != nil {
		emergencyMode.end(e, "emergency mode is off", zap.String("by", clientOf(r)))
	}
	writeJSON(w, http.StatusOK, newEmergencyAnswer(emergencyMode.active(time.Now())))
	return nil
}

// changeEmergency writes a version of the rules with an emergency, nil for none, and answers with
// what is in force on this node then.
func changeEmergency(w http.ResponseWriter, r *http.Request, e *rules.Emergency) error {
	change := rulesChange{apply: func(d *rules.Document) error {
		d.Emergency = e
		return nil
	}}
	if e != nil {
		change.note = e.Reason
	}
	answer, err := changeRules(r, change)
	if err != nil {
		return rulesError(err)
	}
	if answer.DryRun {
		answerWritten(w, answer)
		return nil
	}
	w.Header().Set("ETag", etag(answer.Version))
	writeJSON(w, http.StatusOK, newEmergencyAnswer(emergencyMode.active(time.Now())))
	return nil
}
