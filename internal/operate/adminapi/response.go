package adminapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/caddyserver/caddy/v2"

	"github.com/fleetlimit/fleetlimit/internal/text/spelling"
)

// apiError returns an error that Caddy answers with status and a JSON object that has the message.
func apiError(status int, format string, args ...any) error {
	return caddy.APIError{HTTPStatus: status, Err: fmt.Errorf(format, args...)}
}

// boundError returns an answer whose message does not repeat long parts of its request.
func boundError(err error) error {
	if answer, ok := err.(caddy.APIError); ok {
		answer.Err = spelling.Bound(answer.Err)
		return answer
	}
	return spelling.Bound(err)
}

// statusOfError returns the status that Caddy answers err with, or 0 if err has none.
func statusOfError(err error) int {
	var answer caddy.APIError
	if errors.As(err, &answer) {
		return answer.HTTPStatus
	}
	return 0
}

// startResponse begins an answer that no cache stores.
func startResponse(w http.ResponseWriter, status int, mediaType string) {
	w.Header().Set("Content-Type", mediaType)
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
}

// writeText answers with a text.
func writeText(w http.ResponseWriter, mediaType string, text []byte) {
	startResponse(w, http.StatusOK, mediaType)
	_, _ = w.Write(text) // it fails if the client has left, which needs no error
}

// writeJSON answers with v.
func writeJSON(w http.ResponseWriter, status int, v any) {
	startResponse(w, status, mediaJSON)
	_ = json.NewEncoder(w).Encode(v) // it fails if the client has left, which needs no error
}
