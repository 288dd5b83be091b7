package gateway

import "github.com/caddyserver/caddy/v2/modules/caddyhttp"

// An appModule is the module of Caddy in which an App is embedded.
type appModule interface{ running() *App }

// A handlerModule is the module of Caddy in which a Handler is embedded.
type handlerModule interface{ running() *Handler }

func (a *App) running() *App { return a }

func (h *Handler) running() *Handler { return h }

// handlerOf returns the Handler of one of Caddy's handlers. It returns nil if that is another module.
func handlerOf(h caddyhttp.MiddlewareHandler) *Handler {
	if m, is := h.(handlerModule); is {
		return m.running()
	}
	return nil
}
