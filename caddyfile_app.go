package fleetlimit

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/caddyserver/caddy/v2/caddyconfig"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"

	"github.com/fleetlimit/fleetlimit/internal/subdirective"
)

// parseGlobalOption parses the global option. See parseDirective for what is in angle brackets.
//
//	{
//		rate_limit {
//			redis [standalone|sentinel|cluster] {      # where a fleet keeps its counts; default: in memory
//				address           <host:port...>
//				username          <name>
//				password          <secret>
//				db                <n>                  # default 0
//				master_name       <name>               # sentinel
//				sentinel_password <secret>             # sentinel
//				key_prefix        <prefix>             # default rl
//				timeout           <duration>           # default 50ms
//				pool_size         <n>
//				tls {                                  # default: no TLS; block optional
//					ca          <file>
//					server_name <name>
//					insecure_skip_verify
//				}
//			}
//			zone <name> { ... }                        # repeatable: a zone that sites use by its name
//			tier <name> <rate> [{ <consistency> }]     # repeatable: a named limit that zones can use
//			defaults {                                 # for zones and handlers that do not set these
//				algorithm     <algorithm>
//				mode          strict | lease
//				max_overshoot <percent>
//				on_outage     local | open | closed
//				headers       x | draft | all | none
//				reject        json | problem | error
//			}
//			nodes <n>                                  # with redis; default: counted
//			breaker {                                  # with redis
//				failures    <n>                        # default 5
//				within      <duration>                 # default 10s
//				probe_every <duration>                 # default 1s
//				probes      <n>                        # default 3
//			}
//		}
//	}
func parseGlobalOption(d *caddyfile.Dispenser, existing any) (any, error) {
	d.Next() // the option's name
	if existing != nil {
		return nil, d.Errf("the global option rate_limit is already specified: use one block for all of it")
	}
	if d.NextArg() {
		return nil, d.Errf("unexpected %q: use `rate_limit {`", d.Val())
	}
	app, many := new(App), subdirective.AnyNumber
	var zones []caddyfile.Segment
	b := subdirective.Block{Of: "the global option rate_limit", Remedies: globalRemedies, Lines: map[string]subdirective.Line{
		"redis": {Usage: "redis [standalone|sentinel|cluster] {", Max: 1, Parse: func(args []string) error {
			return app.parseRedis(d, args)
		}},
		"zone": {Usage: "zone <name> {", Min: 1, Max: 1, Repeats: true, Parse: func([]string) error {
			zones = append(zones, d.NextSegment())
			return nil
		}},
		"tier": {Usage: "tier <name> " + rateUsage, Min: 2, Max: many, Repeats: true, Parse: func(args []string) error {
			return app.parseTier(d, args)
		}},
		"defaults": {Usage: "defaults {", Parse: func([]string) error { return app.parseDefaults(d) }},
		"nodes":    subdirective.Number(d, "nodes", 1, maxNodes, &app.Nodes),
		"breaker":  {Usage: "breaker {", Parse: func([]string) error { return app.parseBreaker(d) }},
	}}
	places, err := b.Read(d)
	if err != nil {
		return nil, err
	}
	if err := app.checkNodes(); err != nil {
		return nil, places["nodes"].WrapErr(err)
	}
	if err := app.checkBreaker(); err != nil {
		return nil, places["breaker"].WrapErr(err)
	}
	if err := app.parseZones(zones); err != nil {
		return nil, err
	}
	return httpcaddyfile.App{Name: appName, Value: caddyconfig.JSON(app, nil)}, nil
}

// parseZones parses the zones that the rest of the global option applies to. Each is a segment of
// the Caddyfile that begins with its name.
func (a *App) parseZones(zones []caddyfile.Segment) error {
	if a.Defaults != nil {
		a.defaults = *a.Defaults
	}
	h, shorthands := new(Handler), httpcaddyfile.NewShorthandReplacer()
	p := directiveParser{h: h, app: a, inApp: true, zones: make(map[string]*caddyfile.Dispenser)}
	for _, zone := range zones {
		shorthands.ApplyToSegment(&zone) // Caddy applies them only to sites
		p.Dispenser = caddyfile.NewDispenser(zone)
		p.Next() // the name
		if err := p.zone([]string{p.Val()}); err != nil {
			return err
		}
	}
	a.Zones = h.Zones
	return nil
}

// parseTier parses the name and the limit of a tier.
func (a *App) parseTier(d *caddyfile.Dispenser, args []string) error {
	name := args[0]
	switch {
	case name == "keys" || name == "default" || strings.ContainsAny(name, "{}") || tierRemedies[name] != "":
		return d.Errf("a tier cannot be called %s, which has another meaning in a zone: use another name", name)
	case a.Tiers[name] != nil:
		return d.Errf("tier %s is already specified as %v: use it once", name, a.Tiers[name])
	}
	return parseTier(d, args, &a.Tiers)
}

func (a *App) parseDefaults(d *caddyfile.Dispenser) error {
	c := new(Defaults)
	a.Defaults = c
	return subdirective.Block{Of: "defaults", Remedies: defaultsRemedies, Lines: map[string]subdirective.Line{
		"algorithm":     algorithmLine(d, &c.Algorithm),
		"mode":          modeLine(d, &c.Mode),
		"max_overshoot": maxOvershootLine(d, &c.MaxOvershoot),
		"on_outage":     onOutageLine(d, &c.OnOutage),
		"headers":       subdirective.Word(d, headersUsage, parseHeaderSet, &c.Headers),
		"reject":        subdirective.Word(d, rejectUsage, parseRejectStyle, &c.Reject),
	}}.Parse(d)
}

func (a *App) parseBreaker(d *caddyfile.Dispenser) error {
	c, many := new(Breaker), subdirective.AnyNumber
	a.Breaker = c
	return subdirective.Block{Of: "breaker", Lines: map[string]subdirective.Line{
		"failures":    subdirective.Number(d, "failures", 1, many, &c.Failures),
		"within":      subdirective.Duration(d, "within", false, &c.Within),
		"probe_every": subdirective.Duration(d, "probe_every", false, &c.ProbeEvery),
		"probes":      subdirective.Number(d, "probes", 1, many, &c.Probes),
	}}.Parse(d)
}

func (a *App) parseRedis(d *caddyfile.Dispenser, args []string) error {
	c, place, many := new(Redis), subdirective.Here(d), subdirective.AnyNumber
	a.Redis, c.Place = c, placeOf(d)
	if len(args) > 0 {
		c.Mode = args[0]
		if err := checkRedisMode(c.Mode); err != nil {
			return d.WrapErr(err)
		}
	}
	b := subdirective.Block{Of: "redis", Remedies: redisRemedies, Lines: map[string]subdirective.Line{
		"address":           {Usage: "address <host:port...>", Min: 1, Max: many, Parse: subdirective.List(&c.Addresses)},
		"username":          subdirective.Text("username <name>", &c.Username),
		"password":          subdirective.Text("password <secret>", &c.Password),
		"db":                subdirective.Number(d, "db", 0, many, &c.DB),
		"master_name":       subdirective.Text("master_name <name>", &c.MasterName),
		"sentinel_password": subdirective.Text("sentinel_password <secret>", &c.SentinelPassword),
		"key_prefix":        subdirective.Text("key_prefix <prefix>", &c.KeyPrefix),
		"timeout":           subdirective.Duration(d, "timeout", false, &c.Timeout),
		"pool_size":         subdirective.Number(d, "pool_size", 1, many, &c.PoolSize),
		"tls":               {Usage: "tls` or `tls { ... }", Parse: func([]string) error { return c.parseTLS(d) }},
	}}
	places, err := b.Read(d)
	if err != nil {
		return err
	}
	setting, err := c.check(false)
	if err != nil {
		return cmp.Or(places[setting], place).WrapErr(err)
	}
	return nil
}

// checkRedisMode refuses an address in the place of the kind of Redis too.
func checkRedisMode(text string) error {
	_, err := parseRedisMode(text)
	if err == nil || !strings.ContainsAny(text, ":.") && text != "localhost" {
		return err
	}
	if checkRedisAddress(text) == nil {
		return fmt.Errorf("an address belongs into the block: use `redis {` and in it `address %s`", text)
	}
	return errors.New("an address belongs into the block: use `redis {` and in it `address <host:port>`")
}

// parseTLS parses the TLS settings. Without a block, TLS has its defaults.
func (c *Redis) parseTLS(d *caddyfile.Dispenser) error {
	c.TLS = new(RedisTLS)
	return subdirective.Block{Of: "tls", Optional: true, MayBeEmpty: true, Lines: map[string]subdirective.Line{
		"ca":                   subdirective.Text("ca <file>", &c.TLS.CA),
		"server_name":          subdirective.Text("server_name <name>", &c.TLS.ServerName),
		"insecure_skip_verify": subdirective.Flag("insecure_skip_verify", &c.TLS.InsecureSkipVerify),
	}}.Parse(d)
}
