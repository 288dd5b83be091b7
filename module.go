// Package fleetlimit is a Caddy plugin that limits the rate of requests: the `rate_limit` handler,
// and the app of the same name that holds what the handlers of a configuration share.
//
// The package is Caddy's face: the modules that Caddy knows, and the directives of Caddyfiles. Each
// of its files holds one idea:
//
//	module.go     what is registered
//	handler.go    the handler
//	app.go        the app
//	caddyfile.go  the directive and the global option of Caddyfiles
//	health.go     a handler that tells whether the node is healthy
//	page.go       a handler that serves the operator's page
//
// The packages, each of which knows only those below it:
//
//	internal/gateway    the running process: the app and the handlers from Provision to Cleanup,
//	                    what the routes around them show, reloads and plans, health, drain
//	internal/operate    what people ask and do: the admin API, its client `caddy rate-limit`, the
//	                    operator's page, inspect and explain, trials of another limit
//	internal/request    one request on its way: evaluate decides it over all zones, zone is what a
//	                    compiled zone says about it, response what its response says, report what
//	                    operators see of it, emergency the hard limit in front of everything
//	internal/observe    what is recorded about decisions: counters, the keys that are used most, the
//	                    journal, the last hour, and what an upstream can take
//	internal/fleet      what nodes share: the stores of the counts, membership, the rules
//	internal/api        the requests and answers of the admin API
//	internal/key        keys and addresses
//	internal/caddyread  what is read off Caddy's routes and Caddyfiles
//	internal/text       parsers of what people write and clients send
//	config              what operators write: settings, JSON and the grammar of Caddyfiles
//	limiter             limits, takes, decisions and the algorithms; its packages are the stores
//	rules               limits that change while traffic runs
package fleetlimit

import (
	"github.com/caddyserver/caddy/v2"
	caddycmd "github.com/caddyserver/caddy/v2/cmd"

	"github.com/fleetlimit/fleetlimit/internal/gateway"
	"github.com/fleetlimit/fleetlimit/internal/operate/command"
)

func init() {
	caddy.RegisterModule(new(App))
	caddy.RegisterModule(new(Handler))
	caddy.RegisterModule(new(HealthHandler))
	caddy.RegisterModule(new(PageHandler))
	caddy.RegisterModule(gateway.ReachCheck{})
	caddy.RegisterModule(gateway.AdminAPI{})
	caddycmd.RegisterCommand(command.RateLimit())
}
