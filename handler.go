package fleetlimit

import (
	"net/http"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// ServeHTTP implements caddyhttp.MiddlewareHandler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
	e := h.requests.Begin(r)
	err := e.Decide(w)
	if err == nil && e.IsRejected() {
		e.RefundEarlier()
	}
	switch {
	case err != nil:
		e.Rollback()
	case e.IsRejected():
		err = e.Reject(w)
	default:
		err = e.Admit(w, next)
	}
	e.Release()
	return err
}
