package gateway

import (
	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// An appModule is the module of Caddy in which an App is embedded.
type appModule interface{ asApp() *App }

// A handlerModule is the module of Caddy in which a Handler is embedded.
type handlerModule interface{ asHandler() *Handler }

func (a *App) asApp() *App { return a }

func (h *Handler) asHandler() *Handler { return h }

// appOf returns the App of the configuration that ctx belongs to. Caddy provisions the App first,
// if it is not provisioned yet.
func appOf(ctx caddy.Context) (*App, error) {
	app, err := ctx.App(AppName)
	if err != nil {
		return nil, err
	}
	return app.(appModule).asApp(), nil
}

// handlerOf returns the Handler of one of Caddy's handlers. It returns nil if that is another
// module.
func handlerOf(h caddyhttp.MiddlewareHandler) *Handler {
	if m, is := h.(handlerModule); is {
		return m.asHandler()
	}
	return nil
}
