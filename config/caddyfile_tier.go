package config

import (
	"maps"
	"slices"
	"strings"

	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/fleetlimit/fleetlimit/internal/caddyread/subdirective"
)

// tier parses how the tier of a key is found, and the limits of the tiers.
func (p *zoneParser) tier(args []string) error {
	c, place, many := new(ZoneTier), subdirective.Here(p.Dispenser), subdirective.AnyNumber
	p.zone.Tier = c
	if len(args) > 0 {
		c.Placeholder = args[0]
		if _, _, err := cutRate(args[1:]); err == nil {
			return p.Errf("a tier of the zone belongs into a block: use `tier {<placeholder>} {`, and `%s` on the next line",
				strings.Join(args, " "))
		}
		if err := parseTrusted(args, &c.Trusted); err != nil {
			return p.WrapErr(err)
		}
	}
	var uses []tierUse
	use := func(tier string) { uses = append(uses, tierUse{tier, subdirective.Here(p.Dispenser)}) }
	b := subdirective.Block{Of: "tier", Remedies: remedies["block tier"], Lines: map[string]subdirective.Line{
		"keys": {Usage: "keys <glob...> <tier>", Min: 2, Max: many, Repeats: true, Parse: func(args []string) error {
			globs, tier := args[:len(args)-1], args[len(args)-1]
			for _, g := range globs {
				c.Keys = append(c.Keys, KeyTier{Glob: g, Tier: tier})
			}
			use(tier)
			return nil
		}},
		"default": {Usage: "default <tier>", Min: 1, Max: 1, Parse: func(args []string) error {
			c.Default = args[0]
			use(c.Default)
			return nil
		}},
	}, Other: &subdirective.Line{Usage: "<tier> [" + rateUsage + "]", Min: 1, Max: many, Words: true, Block: p.zoneTier}}
	if err := b.Parse(p.Dispenser); err != nil {
		return err
	}
	if c.Placeholder == "" && len(c.Keys) == 0 && c.Default == "" {
		return place.Errf("no key has a tier: use `tier {<placeholder>} {`, or `keys <glob...> <tier>` or " +
			"`default <tier>` in the block")
	}
	return checkTiers(uses, c.Tiers)
}

// zoneTier parses a tier of the zone. A tier without a limit has the limit of that tier in the
// global option.
func (p *zoneParser) zoneTier(args []string) error {
	name := args[0]
	if len(args) == 1 && p.rest.App != nil && p.rest.App.Tiers[name] == nil {
		return p.Errf("tier %s has no limit: use one here, such as `%s 100/1m`, or `tier %s <rate>` in the global "+
			"rate_limit option", name, name, name)
	}
	return parseTier(p.Dispenser, args, &p.zone.Tier.Tiers)
}

// parseTier parses a tier and adds it to tiers: its name, its limit if args have more than the
// name, and the block that may follow. A tier with neither a limit nor a block is added as nil.
func parseTier(d *caddyfile.Dispenser, args []string, tiers *map[string]*Tier) error {
	if name, colon := strings.CutSuffix(args[0], ":"); colon {
		return d.Errf("tier %s ends with a colon: use %s without it", args[0], name)
	}
	if *tiers == nil {
		*tiers = make(map[string]*Tier)
	}
	if len(args) == 1 && !subdirective.OpensBlock(d) {
		(*tiers)[args[0]] = nil
		return nil
	}
	t := new(Tier)
	(*tiers)[args[0]] = t
	if len(args) > 1 {
		limit, err := parseRate(args[1:])
		if err != nil {
			return d.Errf("tier %s: %w", args[0], err)
		}
		t.Limit = *limit
	}
	return subdirective.Block{Of: "a tier", Optional: true, Remedies: remedies["block enforcement"], Lines: map[string]subdirective.Line{
		"mode":       wordLine("mode", &t.Mode),
		"on_outage":  onOutageLine(&t.OnOutage),
		"concurrent": concurrentLine(&t.Concurrent),
	}}.Parse(d)
}

// checkTiers returns an error for the first use of a tier that is not among tiers.
func checkTiers(uses []tierUse, tiers map[string]*Tier) error {
	for _, u := range uses {
		if _, found := tiers[u.tier]; !found {
			return u.place.Errf("%s is not a tier of the zone: use one of %v, or `%s <rate>` in the zone's tier block",
				u.tier, slices.Sorted(maps.Keys(tiers)), u.tier)
		}
	}
	return nil
}

// A tierUse is a place in the Caddyfile that names a tier. The zone must have that tier.
type tierUse struct {
	tier  string
	place *caddyfile.Dispenser
}
