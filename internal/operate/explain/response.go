package explain

import (
	"bytes"
	"errors"
	"net/http"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// A response keeps what handlers write.
type response struct {
	header http.Header
	status int // 0 if nothing was written
	body   bytes.Buffer
}

func newResponse() *response { return &response{header: make(http.Header)} }

// Header implements http.ResponseWriter.
func (w *response) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter.
func (w *response) WriteHeader(status int) {
	if w.status == 0 && status >= http.StatusOK {
		w.status = status
	}
}

// Write implements http.ResponseWriter.
func (w *response) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(p)
}

// statusOfError returns the status that Caddy answers an error with.
func statusOfError(err error) int {
	var failed caddyhttp.HandlerError
	if errors.As(err, &failed) && failed.StatusCode != 0 {
		return failed.StatusCode
	}
	return http.StatusInternalServerError
}
