package config

import (
	"strings"

	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"

	"github.com/fleetlimit/fleetlimit/internal/caddyread/subdirective"
)

// ParseCaddyfile parses the global option. check is the CheckZone of a [Caddyfile].
// docs/configure/grammar.md has the grammar.
func (a *App) ParseCaddyfile(d *caddyfile.Dispenser, check func(name string, z *Zone) error) error {
	d.Next() // the option's name
	if d.NextArg() {
		return d.Errf("unexpected %q: use `rate_limit {`", d.Val())
	}
	var zones []caddyfile.Segment
	b := subdirective.Block{Of: "the global option rate_limit", Remedies: remedies["block option"], Lines: map[string]subdirective.Line{
		"redis": {Usage: "redis [standalone|sentinel|cluster] {", Max: 1, Block: func(args []string) error {
			return a.parseRedis(d, args)
		}},
		"zone": {Usage: "zone <name> {", Min: 1, Max: 1, Repeats: true, Block: func([]string) error {
			zones = append(zones, d.NextSegment())
			return nil
		}},
		"tier": {
			Usage: "tier <name> " + rateUsage, Min: 2, Max: subdirective.AnyNumber, Repeats: true, Words: true,
			Block: func(args []string) error { return a.parseTier(d, args) },
		},
		"defaults": {Usage: "defaults {", Block: func([]string) error { return a.parseDefaults(d) }},
		"nodes":    subdirective.Number("nodes", 1, MaxNodes, &a.Nodes),
		"nat64": {Usage: "nat64 <prefix...>", Min: 1, Max: subdirective.AnyNumber, Parse: func(args []string) error {
			a.NAT64 = args
			return nil
		}},
		"breaker": {Usage: "breaker {", Block: func([]string) error { return a.parseBreaker(d) }},
		"rules": {Usage: "rules storage | redis | postgres <url>", Min: 1, Max: 2, Parse: func(args []string) error {
			a.Rules = &RuleStore{Name: args[0], URL: strings.Join(args[1:], ""), Place: placeOf(d)}
			return nil
		}},
		"decisions": {Usage: "decisions [log] [postgres] [{ ... }]", Max: 2, Words: true, Block: func(args []string) error {
			return a.parseDecisions(d, args)
		}},
	}}
	places, err := b.Read(d)
	if err != nil {
		return err
	}
	if err := a.checkNodes(); err != nil {
		return places["nodes"].WrapErr(err)
	}
	if _, err := a.Translated(); err != nil {
		return places["nat64"].WrapErr(err)
	}
	if err := a.checkBreaker(); err != nil {
		return places["breaker"].WrapErr(err)
	}
	if err := a.Rules.Check(a.Redis != nil); err != nil {
		return places["rules"].Errf("rules: %w", err)
	}
	if err := a.Decisions.check(a.Rules); err != nil {
		return places["decisions"].WrapErr(err)
	}
	return a.parseZones(zones, check)
}

// parseZones parses the zones of the global option after its other settings, because these apply to
// zones. Each zone is a segment of the Caddyfile that begins with the zone's name.
func (a *App) parseZones(zones []caddyfile.Segment, check func(name string, z *Zone) error) error {
	p := zonesParser{rest: Caddyfile{App: a, CheckZone: check}, inApp: true}
	shorthands := httpcaddyfile.NewShorthandReplacer()
	for _, zone := range zones {
		shorthands.ApplyToSegment(&zone) // Caddy applies them only to sites
		p.Dispenser = caddyfile.NewDispenser(zone)
		p.Next() // the name
		if err := p.parse([]string{p.Val()}); err != nil {
			return err
		}
	}
	a.Zones = p.zones
	return nil
}

// parseTier parses the name and the limit of a tier.
func (a *App) parseTier(d *caddyfile.Dispenser, args []string) error {
	name := args[0]
	switch {
	case name == "keys" || name == "default" || strings.ContainsAny(name, "{}") || remedies["block tier"][name] != "":
		return d.Errf("a tier cannot be called %s, which has another meaning in a zone: use another name", name)
	case a.Tiers[name] != nil:
		return d.Errf("tier %s is already specified as %v: use it once", name, a.Tiers[name])
	}
	if err := parseTier(d, args, &a.Tiers); err != nil {
		return err
	}
	if err := CheckTierNames(a.Tiers); err != nil {
		return d.WrapErr(err)
	}
	return nil
}

func (a *App) parseDefaults(d *caddyfile.Dispenser) error {
	c := new(Defaults)
	a.Defaults = c
	return subdirective.Block{Of: "defaults", Remedies: remedies["block defaults"], Lines: map[string]subdirective.Line{
		"algorithm": algorithmLine(&c.Algorithm),
		"mode":      wordLine("mode", &c.Mode),
		"on_outage": onOutageLine(&c.OnOutage),
		"headers":   wordLine("headers", &c.Headers),
		"reject":    wordLine("reject", &c.Reject),
	}}.Parse(d)
}
