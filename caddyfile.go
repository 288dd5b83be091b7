package fleetlimit

import (
	"encoding/json"

	"github.com/caddyserver/caddy/v2/caddyconfig"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/internal/gateway"
	"github.com/fleetlimit/fleetlimit/internal/text/spelling"
)

func init() {
	// rate_limit_health is ordered before rate_limit, because it is registered first. So no limit ever makes
	// a health check fail.
	httpcaddyfile.RegisterHandlerDirective("rate_limit_health", parseHealthDirective)
	httpcaddyfile.RegisterDirectiveOrder("rate_limit_health", httpcaddyfile.Before, "basic_auth")
	httpcaddyfile.RegisterHandlerDirective("rate_limit", parseDirective)
	httpcaddyfile.RegisterDirectiveOrder("rate_limit", httpcaddyfile.Before, "basic_auth")
	// rate_limit_authenticated is ordered after forward_auth and after what other plugins put directly after
	// forward_auth, whichever plugin registers first.
	httpcaddyfile.RegisterHandlerDirective("rate_limit_authenticated", parseDirective)
	httpcaddyfile.RegisterDirectiveOrder("rate_limit_authenticated", httpcaddyfile.Before, "request_header")
	// rate_limit_page is ordered behind every directive that authenticates, and before those that answer.
	httpcaddyfile.RegisterHandlerDirective("rate_limit_page", parsePageDirective)
	httpcaddyfile.RegisterDirectiveOrder("rate_limit_page", httpcaddyfile.Before, "request_header")
	httpcaddyfile.RegisterGlobalOption("rate_limit", parseGlobalOption)
}

// parseDirective parses the directive rate_limit, which is ordered before basic_auth, and the
// directive rate_limit_authenticated, which is the same but ordered directly after forward_auth.
func parseDirective(helper httpcaddyfile.Helper) (caddyhttp.MiddlewareHandler, error) {
	app, err := globalOption(helper)
	if err != nil {
		return nil, err
	}
	h := new(Handler)
	rest := config.Caddyfile{App: &app.App.App, Matcher: helper.MatcherToken, CheckZone: app.CheckZone, State: helper.State}
	if err := h.ParseCaddyfile(helper.Dispenser, rest); err != nil {
		return nil, spelling.Bound(err)
	}
	return h, nil
}

// globalOption returns the app of the global option. It decodes the option once for all directives of a
// Caddyfile, because many sites may use many of its zones.
func globalOption(helper httpcaddyfile.Helper) (*App, error) {
	const key = "rate_limit.app"
	if app, found := helper.State[key].(*App); found {
		return app, nil
	}
	app := new(App)
	if option, found := helper.Option(gateway.AppName).(httpcaddyfile.App); found {
		if err := json.Unmarshal(option.Value, app); err != nil {
			return nil, err
		}
	}
	if helper.State != nil {
		helper.State[key] = app
	}
	return app, nil
}

// parseGlobalOption parses the global option rate_limit.
func parseGlobalOption(d *caddyfile.Dispenser, existing any) (any, error) {
	if existing != nil {
		d.Next() // the option's name
		return nil, d.Errf("the global option rate_limit is already specified: use one block for all of it")
	}
	app := new(App)
	if err := app.ParseCaddyfile(d, app.CheckZone); err != nil {
		return nil, spelling.Bound(err)
	}
	return httpcaddyfile.App{Name: gateway.AppName, Value: caddyconfig.JSON(app, nil)}, nil
}
