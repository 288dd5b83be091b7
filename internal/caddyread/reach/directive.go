package reach

import (
	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// Directive returns the name of the directive that makes a handler such as h.
func Directive(h caddyhttp.MiddlewareHandler) string {
	switch h.(type) {
	case *caddyhttp.StaticResponse:
		return "respond or redir"
	case *caddyhttp.StaticError:
		return "error"
	}
	if module, is := h.(caddy.Module); is {
		return module.CaddyModule().ID.Name()
	}
	return "a handler"
}
