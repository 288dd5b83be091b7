package fleetlimit

import (
	"strings"

	"github.com/caddyserver/caddy/v2/caddyconfig"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
)

// parseGlobalOption parses the global option; <rate> and <algorithm> are those of parseDirective:
//
//	{
//		rate_limit {
//			redis [standalone|sentinel|cluster] {      # where a fleet keeps its counts; without it: here
//				address           <host:port...>
//				username          <name>
//				password          <secret>
//				db                <n>                  # default 0
//				master_name       <name>               # sentinel
//				sentinel_password <secret>             # sentinel
//				key_prefix        <prefix>             # default rl
//				timeout           <duration>           # default 50ms
//				pool_size         <n>
//				tls {                                  # there: TLS; the block is optional
//					ca          <file>
//					server_name <name>
//					insecure_skip_verify
//				}
//			}
//			tier <name> <rate> {                       # repeatable: a named limit that zones can use; block optional
//				mode          strict | lease
//				max_overshoot <percent>
//			}
//			defaults {                                 # what zones and handlers do not say themselves
//				algorithm     <algorithm>
//				mode          strict | lease
//				max_overshoot <percent>
//				headers       x | draft | all | none
//				reject        json | problem | error
//			}
//			nodes <n>                                  # with redis; default: counted
//		}
//	}
func parseGlobalOption(d *caddyfile.Dispenser, existing any) (any, error) {
	d.Next() // the option's name
	if existing != nil {
		return nil, d.Errf("the global option rate_limit is already specified: write one block with all of it")
	}
	if d.NextArg() {
		return nil, d.Errf("unexpected %q: say `rate_limit {`", d.Val())
	}
	app := new(App)
	b := block{of: "the global option rate_limit", lines: map[string]line{
		"redis": {
			usage: "redis [standalone|sentinel|cluster] {", max: 1,
			parse: func(args []string) error { return app.parseRedis(d, args) },
		},
		"tier": {
			usage: "tier <name> " + rateUsage, min: 2, max: anyNumber, repeats: true,
			parse: func(args []string) error { return app.parseTier(d, args) },
		},
		"defaults": {
			usage: "defaults {",
			parse: func([]string) error { return app.parseDefaults(d) },
		},
		"nodes": {
			usage: "nodes <n>", min: 1, max: 1,
			parse: func(args []string) error { return app.parseNodes(d, args) },
		},
	}}
	places, err := b.read(d)
	if err != nil {
		return nil, err
	}
	if err := app.checkNodes(); err != nil {
		return nil, places["nodes"].WrapErr(err)
	}
	return httpcaddyfile.App{Name: appName, Value: caddyconfig.JSON(app, nil)}, nil
}

// parseTier parses a tier's name and limit.
func (a *App) parseTier(d *caddyfile.Dispenser, args []string) error {
	name := args[0]
	switch {
	case name == "keys" || name == "default" || strings.ContainsAny(name, "{}"):
		return d.Errf("a tier cannot be called %s, which means something else in a zone: use another name", name)
	case a.Tiers[name] != nil:
		return d.Errf("tier %s is already specified as %v: remove one of the two", name, a.Tiers[name])
	}
	tier, err := parseTier(d, args)
	addTier(&a.Tiers, name, tier)
	return err
}

// parseNodes parses the size of the fleet.
func (a *App) parseNodes(d *caddyfile.Dispenser, args []string) error {
	n, err := parseEvents(args[0])
	if err != nil || n < 1 || n > maxNodes {
		return d.Errf("nodes %q is not a number of nodes: say 1 to %d, or leave it out to have them counted", args[0], maxNodes)
	}
	a.Nodes = int(n)
	return nil
}

// parseDefaults parses what zones and handlers do not say themselves.
func (a *App) parseDefaults(d *caddyfile.Dispenser) error {
	c := new(Defaults)
	a.Defaults = c
	b := block{of: "defaults", lines: map[string]line{
		"algorithm":     algorithmLine(d, &c.Algorithm),
		"mode":          modeLine(d, &c.Mode),
		"max_overshoot": maxOvershootLine(d, &c.MaxOvershoot),
		"headers":       headersLine(d, &c.Headers),
		"reject":        rejectLine(d, &c.Reject),
	}}
	_, err := b.read(d)
	return err
}
