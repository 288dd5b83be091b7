package fleetlimit

import (
	"strconv"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
)

// parseRedis parses where a fleet keeps its counts.
func (a *App) parseRedis(d *caddyfile.Dispenser, args []string) error {
	c, place := new(Redis), here(d)
	a.Redis = c
	if len(args) > 0 {
		c.Mode = args[0]
		if err := checkRedisMode(c.Mode); err != nil {
			return d.WrapErr(err)
		}
	}
	b := block{of: "redis", lines: map[string]line{
		"address":           {usage: "address <host:port...>", min: 1, max: anyNumber, parse: list(&c.Addresses)},
		"username":          {usage: "username <name>", min: 1, max: 1, parse: text(&c.Username)},
		"password":          {usage: "password <secret>", min: 1, max: 1, parse: text(&c.Password)},
		"db":                numberLine(d, "db", 0, &c.DB),
		"master_name":       {usage: "master_name <name>", min: 1, max: 1, parse: text(&c.MasterName)},
		"sentinel_password": {usage: "sentinel_password <secret>", min: 1, max: 1, parse: text(&c.SentinelPassword)},
		"key_prefix":        {usage: "key_prefix <prefix>", min: 1, max: 1, parse: text(&c.KeyPrefix)},
		"timeout":           positiveDurationLine(d, "timeout", &c.Timeout),
		"pool_size":         numberLine(d, "pool_size", 1, &c.PoolSize),
		"tls":               {usage: "tls [{ ... }]", parse: func([]string) error { return c.parseTLS(d) }},
	}}
	places, err := b.read(d)
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
	if !opensBlock(d) {
		return nil
	}
	b := block{of: "tls", mayBeEmpty: true, lines: map[string]line{
		"ca":                   {usage: "ca <file>", min: 1, max: 1, parse: text(&c.TLS.CA)},
		"server_name":          {usage: "server_name <name>", min: 1, max: 1, parse: text(&c.TLS.ServerName)},
		"insecure_skip_verify": {usage: "insecure_skip_verify", parse: flag(&c.TLS.InsecureSkipVerify)},
	}}
	_, err := b.read(d)
	return err
}

// numberLine is a subdirective that says a whole number of at least least.
func numberLine(d *caddyfile.Dispenser, name string, least int, number *int) line {
	return line{usage: name + " <n>", min: 1, max: 1, parse: func(args []string) error {
		n, err := strconv.Atoi(args[0])
		if err != nil || n < least {
			return d.Errf("%s is %q: say a whole number, %d or more", name, args[0], least)
		}
		*number = n
		return nil
	}}
}

// positiveDurationLine is a subdirective that says a duration above 0.
func positiveDurationLine(d *caddyfile.Dispenser, name string, duration *caddy.Duration) line {
	return line{usage: name + " <duration>", min: 1, max: 1, parse: func(args []string) error {
		v, err := caddy.ParseDuration(args[0])
		if err != nil || v <= 0 {
			return d.Errf("%s %q is not a duration above 0: say one such as 50ms", name, args[0])
		}
		*duration = caddy.Duration(v)
		return nil
	}}
}
