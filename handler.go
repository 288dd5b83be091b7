package fleetlimit

import (
	"net/http"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// ServeHTTP implements caddyhttp.MiddlewareHandler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
	e := newEvaluation(h, r)
	err := e.decide()
	switch {
	case err != nil:
		e.rollback()
	case e.refused.refusal != nil:
		err = e.refuse(w)
	case e.denied != nil:
		err = e.reject(w)
	default:
		err = e.admit(w, next)
	}
	e.release()
	return err
}
