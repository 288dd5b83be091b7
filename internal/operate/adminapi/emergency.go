package adminapi

import (
	"cmp"
	"errors"
	"net/http"
	"time"

	"github.com/caddyserver/caddy/v2"

	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/internal/request/emergency"
	"github.com/fleetlimit/fleetlimit/rules"
)

// An emergencyRequest is the body of POST /rate_limit/emergency.
type emergencyRequest struct {
	Limit     string `json:"limit"`      // limit of each address. Default: 10/1s
	ExpiresIn string `json:"expires_in"` // Default: 15m
	Reason    string `json:"reason"`     // for the log
	AllNodes  bool   `json:"all_nodes"`  // by a version of the rules. Default: this node alone
}

const exampleEmergency = `{"limit": "10/1s", "expires_in": "15m", "reason": "flood"}`

// parse returns the emergency that is asked for, which begins at now.
func (r *emergencyRequest) parse(now time.Time) (*rules.Emergency, error) {
	limit, err := emergency.ParseLimit(cmp.Or(r.Limit, api.DefaultEmergency))
	if err != nil {
		return nil, apiError(http.StatusBadRequest, "limit: %w", err)
	}
	expiresIn, err := caddy.ParseDuration(cmp.Or(r.ExpiresIn, api.DefaultExpiresIn))
	switch {
	case err != nil:
		return nil, apiError(http.StatusBadRequest, "expires_in: %q is not a duration: use one such as 15m", r.ExpiresIn)
	case expiresIn <= 0:
		return nil, apiError(http.StatusBadRequest, "expires_in: %s is over already: use DELETE to end an emergency",
			r.ExpiresIn)
	case expiresIn > rules.MaxEmergency:
		return nil, apiError(http.StatusBadRequest, "expires_in: %s is too long: use 24h or less, and prolong it by another "+
			"POST, or use a zone for a lasting limit", r.ExpiresIn)
	case len(r.Reason) > rules.MaxReason:
		return nil, apiError(http.StatusBadRequest, "reason: it has %d bytes: use at most %d",
			len(r.Reason), rules.MaxReason)
	}
	expires := now.Add(expiresIn)
	return &rules.Emergency{Limit: limit.String(), ExpiresAt: &expires, Reason: r.Reason}, nil
}

// getEmergency answers GET /rate_limit/emergency.
func getEmergency(p *Process, _ http.ResponseWriter, _ *http.Request) (any, error) {
	return p.Emergency.Describe(), nil
}

// postEmergency answers POST /rate_limit/emergency, which switches emergency mode on or changes it.
func postEmergency(p *Process, w http.ResponseWriter, r *http.Request) (any, error) {
	var body emergencyRequest
	if err := readJSON(w, r, maxBody, &body, exampleEmergency); err != nil {
		return nil, err
	}
	e, err := body.parse(time.Now())
	if err != nil {
		return nil, err
	}
	if body.AllNodes {
		*e.ExpiresAt = e.ExpiresAt.UTC().Truncate(time.Millisecond)
		return changeEmergency(p, w, r, e)
	}
	if e.StartedBy, err = authorOf(r); err != nil {
		return nil, err
	}
	return orMistake(p.Emergency.Start(e))
}

// deleteEmergency answers DELETE /rate_limit/emergency, which switches emergency mode off.
func deleteEmergency(p *Process, w http.ResponseWriter, r *http.Request) (any, error) {
	allNodes, err := queryBool(r, "all_nodes")
	if err != nil {
		return nil, err
	}
	if allNodes {
		return changeEmergency(p, w, r, nil)
	}
	author, err := authorOf(r)
	if err != nil {
		return nil, err
	}
	if !p.Emergency.End(author) {
		return nil, apiError(http.StatusConflict,
			"emergency mode is on at all nodes: use DELETE /rate_limit/emergency?all_nodes=true")
	}
	return p.Emergency.Describe(), nil
}

// changeEmergency writes a version of the rules with the emergency e, or without one if e is nil.
// It answers with what is in force on this node afterwards.
func changeEmergency(p *Process, w http.ResponseWriter, r *http.Request, e *rules.Emergency) (any, error) {
	note := ""
	if e != nil {
		note = e.Reason
	}
	c, err := runningOf(p)
	if err != nil {
		return nil, err
	}
	answer, err := updateFor(c, r, note, func(d *rules.Document) error {
		d.Emergency = e
		return nil
	})
	if errors.Is(err, rules.ErrUnavailable) {
		return nil, apiError(http.StatusServiceUnavailable,
			"%w: use the same without all_nodes on each node, which needs no store", err)
	}
	if err != nil {
		return nil, rulesError(err)
	}
	if answer.DryRun {
		return answer, nil
	}
	w.Header().Set("ETag", etag(answer.Version))
	return p.Emergency.Describe(), nil
}
