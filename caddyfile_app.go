package fleetlimit

import (
	"strings"

	"github.com/caddyserver/caddy/v2/caddyconfig"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"

	"github.com/fleetlimit/fleetlimit/internal/subdirective"
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
	b := subdirective.Block{Of: "the global option rate_limit", Lines: map[string]subdirective.Line{
		"redis": {
			Usage: "redis [standalone|sentinel|cluster] {", Max: 1,
			Parse: func(args []string) error { return app.parseRedis(d, args) },
		},
		"tier": {
			Usage: "tier <name> " + rateUsage, Min: 2, Max: subdirective.AnyNumber, Repeats: true,
			Parse: func(args []string) error { return app.parseTier(d, args) },
		},
		"defaults": {
			Usage: "defaults {",
			Parse: func([]string) error { return app.parseDefaults(d) },
		},
		"nodes": {
			Usage: "nodes <n>", Min: 1, Max: 1,
			Parse: func(args []string) error { return app.parseNodes(d, args) },
		},
	}}
	places, err := b.Read(d)
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
	b := subdirective.Block{Of: "defaults", Lines: map[string]subdirective.Line{
		"algorithm":     algorithmLine(d, &c.Algorithm),
		"mode":          modeLine(d, &c.Mode),
		"max_overshoot": maxOvershootLine(d, &c.MaxOvershoot),
		"headers":       headersLine(d, &c.Headers),
		"reject":        rejectLine(d, &c.Reject),
	}}
	_, err := b.Read(d)
	return err
}

// parseRedis parses where a fleet keeps its counts.
func (a *App) parseRedis(d *caddyfile.Dispenser, args []string) error {
	c, place := new(Redis), subdirective.Here(d)
	a.Redis = c
	if len(args) > 0 {
		c.Mode = args[0]
		if err := checkRedisMode(c.Mode); err != nil {
			return d.WrapErr(err)
		}
	}
	b := subdirective.Block{Of: "redis", Lines: map[string]subdirective.Line{
		"address":           {Usage: "address <host:port...>", Min: 1, Max: subdirective.AnyNumber, Parse: subdirective.List(&c.Addresses)},
		"username":          {Usage: "username <name>", Min: 1, Max: 1, Parse: subdirective.Text(&c.Username)},
		"password":          {Usage: "password <secret>", Min: 1, Max: 1, Parse: subdirective.Text(&c.Password)},
		"db":                subdirective.Number(d, "db", 0, &c.DB),
		"master_name":       {Usage: "master_name <name>", Min: 1, Max: 1, Parse: subdirective.Text(&c.MasterName)},
		"sentinel_password": {Usage: "sentinel_password <secret>", Min: 1, Max: 1, Parse: subdirective.Text(&c.SentinelPassword)},
		"key_prefix":        {Usage: "key_prefix <prefix>", Min: 1, Max: 1, Parse: subdirective.Text(&c.KeyPrefix)},
		"timeout":           subdirective.PositiveDuration(d, "timeout", &c.Timeout),
		"pool_size":         subdirective.Number(d, "pool_size", 1, &c.PoolSize),
		"tls":               {Usage: "tls [{ ... }]", Parse: func([]string) error { return c.parseTLS(d) }},
	}}
	places, err := b.Read(d)
	if err != nil {
		return err
	}
	if setting, err := c.check(false); err != nil {
		if p := places[setting]; p != nil {
			place = p
		}
		return place.WrapErr(err)
	}
	return nil
}

// parseTLS parses how Redis proves who it is; without a block, too, there is TLS.
func (c *Redis) parseTLS(d *caddyfile.Dispenser) error {
	c.TLS = new(RedisTLS)
	if !subdirective.OpensBlock(d) {
		return nil
	}
	b := subdirective.Block{Of: "tls", MayBeEmpty: true, Lines: map[string]subdirective.Line{
		"ca":                   {Usage: "ca <file>", Min: 1, Max: 1, Parse: subdirective.Text(&c.TLS.CA)},
		"server_name":          {Usage: "server_name <name>", Min: 1, Max: 1, Parse: subdirective.Text(&c.TLS.ServerName)},
		"insecure_skip_verify": {Usage: "insecure_skip_verify", Parse: subdirective.Flag(&c.TLS.InsecureSkipVerify)},
	}}
	_, err := b.Read(d)
	return err
}
