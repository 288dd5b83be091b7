package gateway

import "github.com/caddyserver/caddy/v2"

// Caddy knows apps and handlers only embedded in the modules of the root package. In these tests,
// they are modules themselves.

func (*App) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: AppName, New: func() caddy.Module { return new(App) }}
}

func (*Handler) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "http.handlers.rate_limit", New: func() caddy.Module { return new(Handler) }}
}

func init() {
	for _, m := range []caddy.Module{new(App), new(Handler), ReachCheck{}, AdminAPI{}} {
		caddy.RegisterModule(m)
	}
}
