package fleetlimit

import (
	"github.com/caddyserver/caddy/v2"

	"github.com/fleetlimit/fleetlimit/internal/gateway"
)

// App is what all rate_limit handlers of a configuration share. It is optional: without it,
// handlers count in the memory of this process.
type App struct {
	gateway.App // what operators write, and what runs
}

// CaddyModule returns the Caddy module information.
func (*App) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  gateway.AppName,
		New: func() caddy.Module { return new(App) },
	}
}

// Interface guards.
var (
	_ caddy.App          = (*App)(nil)
	_ caddy.Provisioner  = (*App)(nil)
	_ caddy.CleanerUpper = (*App)(nil)
)
