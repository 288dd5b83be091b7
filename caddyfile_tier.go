package fleetlimit

import (
	"maps"
	"slices"
	"strings"

	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
)

// tier parses how the tier of a key is found, and the limits of the tiers.
func (p *zoneParser) tier(args []string) error {
	c := new(ZoneTier)
	p.zone.Tier = c
	if len(args) > 0 {
		if !isPlaceholder(args[0]) {
			return p.Errf("%q is not a placeholder: say `tier {<placeholder>} {`, such as {http.auth.user.tier}, "+
				"or `tier {` for tiers by key", args[0])
		}
		var err error
		if c.Trusted, err = parseTrusted(p.Dispenser, args[0], args[1:]); err != nil {
			return err
		}
		c.Placeholder = args[0]
	}
	place := here(p.Dispenser)

	var uses []tierUse
	b := block{
		of: "tier",
		lines: map[string]line{
			"keys": {usage: "keys <glob...> <tier>", min: 2, max: anyNumber, repeats: true, parse: func(args []string) error {
				globs, tier := args[:len(args)-1], args[len(args)-1]
				for _, g := range globs {
					c.Keys = append(c.Keys, KeyTier{Glob: g, Tier: tier})
				}
				uses = append(uses, tierUse{tier, here(p.Dispenser)})
				return nil
			}},
			"default": {usage: "default <tier>", min: 1, max: 1, parse: func(args []string) error {
				c.Default = args[0]
				uses = append(uses, tierUse{c.Default, here(p.Dispenser)})
				return nil
			}},
		},
		other: &line{usage: "<tier> [" + rateUsage + "]", min: 1, max: anyNumber, parse: p.zoneTier},
	}
	if _, err := b.read(p.Dispenser); err != nil {
		return err
	}
	if c.Placeholder == "" && len(c.Keys) == 0 && c.Default == "" {
		return place.Errf("no key has a tier: say `tier {<placeholder>} {`, or `keys <glob...> <tier>` or " +
			"`default <tier>` in the block")
	}
	return checkTiers(uses, c.Tiers)
}

// zoneTier parses a tier of the zone. Without a limit it has that of the global option.
func (p *zoneParser) zoneTier(args []string) error {
	name := args[0]
	if len(args) == 1 && p.app != nil && p.app.Tiers[name] == nil {
		return p.Errf("tier %s has no limit: say one here, such as `%s 100/1m`, or define `tier %s <rate>` in the "+
			"global rate_limit option", name, name, name)
	}
	tier, err := parseTier(p.Dispenser, args)
	addTier(&p.zone.Tier.Tiers, name, tier)
	return err
}

// parseTier parses a tier: its name and, when args go on, its limit, and the block that may follow. The tier is nil when
// there is nothing but the name.
func parseTier(d *caddyfile.Dispenser, args []string) (t *Tier, err error) {
	t = new(Tier)
	if len(args) > 1 {
		limit, err := parseRate(args[1:])
		if err != nil {
			return nil, d.Errf("tier %s: %w", args[0], err)
		}
		t.Limit = *limit
	}
	if !opensBlock(d) {
		if len(args) == 1 {
			return nil, nil
		}
		return t, nil
	}
	b := block{of: "a tier", lines: map[string]line{
		"mode":          modeLine(d, &t.Mode),
		"max_overshoot": maxOvershootLine(d, &t.MaxOvershoot),
	}}
	_, err = b.read(d)
	return t, err
}

func addTier(tiers *map[string]*Tier, name string, t *Tier) {
	if *tiers == nil {
		*tiers = make(map[string]*Tier)
	}
	(*tiers)[name] = t
}

// checkTiers returns an error for the first use of a tier that is not among tiers.
func checkTiers(uses []tierUse, tiers map[string]*Tier) error {
	for _, u := range uses {
		if _, found := tiers[u.tier]; !found {
			return u.place.Errf("tier %s is not one of the zone's (%s): add it to the zone's tier block",
				u.tier, strings.Join(slices.Sorted(maps.Keys(tiers)), ", "))
		}
	}
	return nil
}
