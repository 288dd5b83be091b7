package config

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/fleetlimit/fleetlimit/internal/caddyread/subdirective"
)

func (a *App) parseRedis(d *caddyfile.Dispenser, args []string) error {
	c, place, many := new(Redis), subdirective.Here(d), subdirective.AnyNumber
	a.Redis, c.Place = c, placeOf(d)
	if len(args) > 0 {
		c.Mode = args[0]
		if err := checkRedisMode(c.Mode); err != nil {
			return d.WrapErr(err)
		}
	}
	b := subdirective.Block{Of: "redis", Remedies: remedies["block redis"], Lines: map[string]subdirective.Line{
		"address":           {Usage: "address <host:port...>", Min: 1, Max: many, Parse: subdirective.List(&c.Addresses)},
		"username":          subdirective.Text("username <name>", &c.Username),
		"password":          subdirective.Text("password <secret>", &c.Password),
		"db":                subdirective.Number("db", 0, many, &c.DB),
		"master_name":       subdirective.Text("master_name <name>", &c.MasterName),
		"sentinel_password": subdirective.Text("sentinel_password <secret>", &c.SentinelPassword),
		"key_prefix":        subdirective.Text("key_prefix <prefix>", &c.KeyPrefix),
		"timeout":           subdirective.Duration("timeout", false, &c.Timeout),
		"pool_size":         subdirective.Number("pool_size", 1, maxPoolSize, &c.PoolSize),
		"tls":               {Usage: "tls` or `tls { ... }", Block: func([]string) error { return c.parseTLS(d) }},
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

// checkRedisMode refuses a text that is no kind of Redis. If the text is an address, the error says
// where addresses belong.
func checkRedisMode(text string) error {
	err := CheckWord("redis", text)
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

func (a *App) parseBreaker(d *caddyfile.Dispenser) error {
	c, place := new(Breaker), subdirective.Here(d)
	a.Breaker = c
	places, err := subdirective.Block{Of: "breaker", Lines: map[string]subdirective.Line{
		"failures":    subdirective.Number("failures", 1, mostBreakerCount, &c.Failures),
		"within":      subdirective.Duration("within", false, &c.Within),
		"probe_every": subdirective.Duration("probe_every", false, &c.ProbeEvery),
		"probes":      subdirective.Number("probes", 1, mostBreakerCount, &c.Probes),
	}}.Read(d)
	if err != nil {
		return err
	}
	if setting, err := c.check(); err != nil {
		return cmp.Or(places[setting], place).WrapErr(err)
	}
	return nil
}
